//go:build unix

package registry_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
)

// linked is a directory with a link in it, so that dir/link/.. is not dir for the operating system.
func linked(t *testing.T) (dir, beyond string) {
	t.Helper()
	dir, beyond = t.TempDir(), filepath.Join(t.TempDir(), "far")
	if err := os.MkdirAll(filepath.Join(beyond, "off"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(beyond, "off"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	return dir, beyond
}

// TestFileBehindLink checks that the cleaned path is opened, also for callers that did not make the
// place absolute.
func TestFileBehindLink(t *testing.T) {
	t.Parallel()
	dir, beyond := linked(t)
	for at, text := range map[string]string{dir: "near", beyond: "far"} {
		if err := os.WriteFile(filepath.Join(at, "x.star"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []string{dir + "/link/../x.star", "file://" + dir + "/link/../x.star"} {
		a, err := newClient(t, registry.Options{}).Resolve(t.Context(), mustParse(t, s), registry.Want{Role: mediatypes.RoleStarlark})
		if err != nil {
			t.Fatal(err)
		}
		if data, err := a.ReadFile(t.Context(), 0); err != nil || string(data) != "near" {
			t.Errorf("%s: %q, %v", s, data, err)
		}
	}
}

// TestLayoutBehindLink checks the same for reading, writing and attaching in layouts.
func TestLayoutBehindLink(t *testing.T) {
	t.Parallel()
	dir, beyond := linked(t)
	c := newClient(t, registry.Options{})
	push := func(s, kind string) registry.Artifact {
		a, err := c.Push(t.Context(), mustParse(t, s), bundles()[kind])
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	behind := "oci-layout://" + dir + "/link/../x:v1"
	near := push(behind, "catalog")
	mustAttach(t, c, mustParse(t, behind), near.Root, signatureOf(near.Root.Digest, "payload", "a"))
	if _, err := os.Stat(filepath.Join(beyond, "x")); !os.IsNotExist(err) {
		t.Errorf("something was written behind the link: %v", err)
	}
	far := push("oci-layout://"+beyond+"/x:v1", "definition")
	for s, want := range map[string]registry.Artifact{
		"oci-layout://" + dir + "/x:v1": near, behind: near, "oci-layout://" + beyond + "/x:v1": far,
	} {
		a, err := c.Resolve(t.Context(), mustParse(t, s), registry.Want{})
		if err != nil || a.Root.Digest != want.Root.Digest {
			t.Fatalf("%s is %s, want %s: %v", s, a.Root.Digest, want.Root.Digest, err)
		}
		if _, err := a.ReadFile(t.Context(), 0); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	if _, err := c.Attach(t.Context(), mustParse(t, behind), far.Root, signatureOf(far.Root.Digest, "payload", "a")); !isA[*registry.NotFoundError](err) {
		t.Errorf("attaching to what is elsewhere: %v", err)
	}
	for at, want := range map[string]int{behind: 1, "oci-layout://" + beyond + "/x:v1": 0} {
		a, err := c.Resolve(t.Context(), mustParse(t, at), registry.Want{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.Attachments(t.Context(), a.Root.Digest, signatures(a.Root.Digest)); err != nil || len(got) != want {
			t.Errorf("%s has %d attached, want %d: %v", at, len(got), want, err)
		}
	}
}
