package registry_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

const catalogYAML = "apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata:\n  name: example\n"

func here() string { return runtime.GOOS + "/" + runtime.GOARCH }

// bundles are one bundle of each role.
func bundles() map[string]registry.Bundle {
	file := func(title, data string) registry.File { return registry.File{Title: title, Data: []byte(data)} }
	program := func(platform, data string) registry.File {
		return registry.File{Title: "dir/set-label", Platform: platform, Data: []byte(data)}
	}
	return map[string]registry.Bundle{
		"catalog": {
			Role: mediatypes.RoleCatalog, Files: []registry.File{file("catalog.yaml", catalogYAML)},
			Annotations: map[string]string{"b": "2", "a": "1"},
		},
		"definition": {Role: mediatypes.RoleDefinition, Files: []registry.File{file("function.yaml", "kind: KRMFunctionDefinition\n")}},
		"script":     {Role: mediatypes.RoleStarlark, Files: []registry.File{file("main.star", "load('lib.star', 'f')\nf()\n"), file("lib.star", "def f(): pass\n")}},
		"program":    {Role: mediatypes.RoleExec, Files: []registry.File{file("set-label", "#!/bin/cat\n")}},
		"programs": {Role: mediatypes.RoleExec, Files: []registry.File{
			program(here(), "for this machine"), program("plan9/mips", "for another"), program("aix/ppc64", "for another"),
		}},
	}
}

func newClient(t testing.TB, o registry.Options) *registry.Client {
	t.Helper()
	if o.Retry == (registry.Retry{}) {
		o.Retry = registry.Retry{Max: 2, MinWait: time.Millisecond, MaxWait: 2 * time.Second}
	}
	c, err := registry.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// place is somewhere to push to and to read from, as one user and as another whose
// cache is empty.
type place struct {
	prefix         string
	writer, reader *registry.Client
}

func places(t *testing.T) map[string]place {
	t.Helper()
	plain := regtest.Start(t, regtest.Options{})
	logins := regtest.Start(t, regtest.Options{Logins: true})
	tls := regtest.Start(t, regtest.Options{TLS: true})
	docker := regtest.DockerConfig(t, logins.Host)
	podman := filepath.Join(regtest.DockerConfig(t, logins.Host+"/team"), "config.json")
	two := func(prefix string, o registry.Options) place {
		cached := o
		cached.CacheDir = filepath.Join(t.TempDir(), "cache")
		return place{prefix, newClient(t, o), newClient(t, cached)}
	}
	return map[string]place{
		"layout": two("oci-layout://"+filepath.Join(t.TempDir(), "layouts")+"/", registry.Options{}),
		"plain":  two("oci://"+plain.Host+"/", registry.Options{}),
		"docker": two("oci://"+logins.Host+"/a/", registry.Options{DockerConfigDir: docker}),
		"podman": two("oci://"+logins.Host+"/team/", registry.Options{AuthFiles: []string{"/nonexistent/auth.json", podman}}),
		"ca":     two("oci://"+tls.Host+"/ca/", registry.Options{CAFile: tls.CAFile}),
		"any ca": two("oci://"+tls.Host+"/any/", registry.Options{Insecure: true}),
		// TLS options apply only to registries with TLS.
		"plain, beside a ca": two("oci://"+plain.Host+"/beside/", registry.Options{CAFile: tls.CAFile}),
		"plain, beside any":  two("oci://"+plain.Host+"/beside-any/", registry.Options{Insecure: true}),
		"login, beside a ca": two("oci://"+logins.Host+"/beside/", registry.Options{CAFile: tls.CAFile, DockerConfigDir: docker}),
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	digests := map[string]map[digest.Digest]bool{}
	for where, p := range places(t) {
		for kind, b := range bundles() {
			d := roundTrip(t, p, where+"/"+kind, p.prefix+kind, b)
			if digests[kind] == nil {
				digests[kind] = map[digest.Digest]bool{}
			}
			digests[kind][d] = true
		}
	}
	for kind, ds := range digests {
		if len(ds) != 1 {
			t.Errorf("%s has different digests in different places: %v", kind, ds)
		}
	}
}

func roundTrip(t *testing.T, p place, name, ref string, b registry.Bundle) digest.Digest {
	t.Helper()
	ctx := t.Context()
	pushed, err := p.writer.Push(ctx, mustParse(t, ref+":v1"), b, "v1.0", "v1")
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	again, err := p.writer.Push(ctx, mustParse(t, ref+":v1"), b)
	if err != nil || again.Root.Digest != pushed.Root.Digest {
		t.Fatalf("%s: pushed again: %v, digest %s, then %s", name, err, pushed.Root.Digest, again.Root.Digest)
	}
	d := pushed.Root.Digest
	for _, tail := range []string{":v1", ":v1.0", "@" + d.String(), ":other@" + d.String()} {
		l := mustParse(t, ref+tail)
		a, err := p.reader.Resolve(ctx, l, registry.Want{Role: b.Role})
		if err != nil {
			t.Fatalf("%s%s: %v", name, tail, err)
		}
		if a.Root.Digest != d || a.Root.Size != pushed.Root.Size || a.Root.MediaType != pushed.Root.MediaType || a.Role != b.Role || a.From != l {
			t.Errorf("%s%s: got %+v, pushed %+v", name, tail, a, pushed.Root)
		}
		if a.Pinned().Digest != d || a.Pinned().Tag != l.Tag {
			t.Errorf("%s%s: pinned is %s", name, tail, a.Pinned())
		}
		checkContent(t, name+tail, a, b)
	}
	return d
}

func checkContent(t *testing.T, name string, a registry.Artifact, b registry.Bundle) {
	t.Helper()
	want := b.Files
	if want[0].Platform != "" {
		want = want[:1]
		if got := strings.Join(a.Platforms, " "); got != "aix/ppc64 "+here()+" plan9/mips" {
			t.Errorf("%s: platforms %q", name, got)
		}
	}
	if len(a.Files) != len(want) {
		t.Fatalf("%s: %d files, want %d", name, len(a.Files), len(want))
	}
	for i, f := range want {
		data, err := a.ReadFile(t.Context(), i)
		if err != nil || !bytes.Equal(data, f.Data) {
			t.Errorf("%s: file %d is %q, %v", name, i, data, err)
		}
		if got := registry.Title(a.Files[i]); got != filepath.Base(f.Title) {
			t.Errorf("%s: title %q", name, got)
		}
	}
	for k, v := range b.Annotations {
		if a.Annotations[k] != v {
			t.Errorf("%s: annotations %v", name, a.Annotations)
		}
	}
}

func TestPackIsStable(t *testing.T) {
	t.Parallel()
	// A change of these digests changes the digest of everything that is pushed.
	want := map[string]digest.Digest{
		"catalog":    "sha256:51651dfa55a95ee86990cfcd3a1b7f0dfb8110024d67c9ebad3ec0b022f6e942",
		"definition": "sha256:c6c61d609d6a7b2d66030dfbcb35416f740eb56aec85b77db60bcf4f19463236",
		"script":     "sha256:d43a2607b592c5ccdadb66cc650990e19493ff6642c3a50513506c007d19896f",
		"program":    "sha256:95488e631141ecb46c0cd78e92e2f8c225d4088b050c2b71ce0fdbd46340b8c8",
	}
	c := newClient(t, registry.Options{})
	for kind, d := range want {
		l := mustParse(t, "oci-layout://"+filepath.Join(t.TempDir(), "l"))
		a, err := c.Push(t.Context(), l, bundles()[kind])
		if err != nil || a.Root.Digest != d {
			t.Errorf("%s: %s, %v, want %s", kind, a.Root.Digest, err, d)
		}
	}
}

func TestPull(t *testing.T) {
	t.Parallel()
	c := newClient(t, registry.Options{})
	root := t.TempDir()
	for kind, b := range bundles() {
		l := mustParse(t, "oci-layout://"+filepath.Join(root, "layout")+":"+kind)
		if _, err := c.Push(t.Context(), l, b); err != nil {
			t.Fatal(err)
		}
		a, err := c.Resolve(t.Context(), l, registry.Want{Role: b.Role})
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(root, "out", kind)
		for range 2 { // the second time over the first
			paths, err := c.Pull(t.Context(), a, dir)
			if err != nil || len(paths) != len(a.Files) {
				t.Fatalf("%s: %v, %v", kind, paths, err)
			}
			checkPulled(t, dir, paths, b)
		}
	}
}

func checkPulled(t *testing.T, dir string, paths []string, b registry.Bundle) {
	t.Helper()
	for i, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(data, b.Files[i].Data) || path != filepath.Join(dir, filepath.Base(b.Files[i].Title)) {
			t.Errorf("%s holds %q, %v", path, data, err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if executable := info.Mode()&0o100 != 0; runtime.GOOS != "windows" && executable != (b.Role == mediatypes.RoleExec) {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != len(paths) {
		t.Errorf("%s holds %v, %v", dir, entries, err)
	}
}

func TestPushRefuses(t *testing.T) {
	t.Parallel()
	c := newClient(t, registry.Options{Limits: registry.Limits{Blob: 1000}})
	script := func(titles ...string) registry.Bundle {
		b := registry.Bundle{Role: mediatypes.RoleStarlark}
		for _, title := range titles {
			b.Files = append(b.Files, registry.File{Title: title, Data: []byte("x")})
		}
		return b
	}
	platforms := func(r mediatypes.Role, ps ...string) registry.Bundle {
		b := registry.Bundle{Role: r}
		for i, p := range ps {
			b.Files = append(b.Files, registry.File{Title: "f" + string(rune('a'+i)), Platform: p, Data: []byte("x")})
		}
		return b
	}
	for name, b := range map[string]registry.Bundle{
		"no role":           {Files: script("a").Files},
		"a container":       {Role: mediatypes.RoleContainer, Files: script("a").Files},
		"no files":          {Role: mediatypes.RoleCatalog},
		"no title":          script(""),
		"a path":            script("../a"),
		"a device":          script("nul.star"),
		"twice":             script("a.star", "A.star"),
		"half platforms":    platforms(mediatypes.RoleExec, "linux/amd64", ""),
		"platform twice":    platforms(mediatypes.RoleExec, "linux/amd64", "linux/amd64"),
		"no platform":       platforms(mediatypes.RoleExec, "linux"),
		"script for linux":  platforms(mediatypes.RoleStarlark, "linux/amd64"),
		"strange platform":  platforms(mediatypes.RoleExec, "linux/am d64"),
		"larger than limit": {Role: mediatypes.RoleExec, Files: []registry.File{{Title: "f", Data: make([]byte, 2000)}}},
	} {
		dir := filepath.Join(t.TempDir(), "l")
		if _, err := c.Push(t.Context(), mustParse(t, "oci-layout://"+dir+":v1"), b); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: something was written", name)
		}
	}
	good := script("a.star")
	for _, ref := range []string{"./file", "https://127.0.0.1:1/x", "oci-layout://" + t.TempDir() + "/l:v1@" + someDigest} {
		if _, err := c.Push(t.Context(), mustParse(t, ref), good); err == nil {
			t.Errorf("%s: no error", ref)
		}
	}
	if _, err := c.Push(t.Context(), mustParse(t, "oci-layout://"+t.TempDir()+"/l"), good, "not a tag"); !isA[*reference.Error](err) {
		t.Errorf("a bad tag: %v", err)
	}
}

func TestLogins(t *testing.T) {
	t.Parallel()
	reg := regtest.Start(t, regtest.Options{Logins: true})
	ref := mustParse(t, "oci://"+reg.Host+"/team/catalog:v1")
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "config.json"), []byte(`{"auths": {"x": {"auth": "hush`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o    registry.Options
		good bool
	}{
		"none":            {registry.Options{}, false},
		"another host":    {registry.Options{DockerConfigDir: regtest.DockerConfig(t, "other.example.com")}, false},
		"team elsewhere":  {registry.Options{AuthFiles: []string{filepath.Join(regtest.DockerConfig(t, "other.example.com/team"), "config.json")}}, false},
		"broken":          {registry.Options{DockerConfigDir: broken}, false},
		"broken and good": {registry.Options{DockerConfigDir: broken, AuthFiles: []string{filepath.Join(regtest.DockerConfig(t, reg.Host), "config.json")}}, true},
		"good":            {registry.Options{DockerConfigDir: regtest.DockerConfig(t, reg.Host)}, true},
		"good as URL":     {registry.Options{DockerConfigDir: regtest.DockerConfig(t, "http://"+reg.Host)}, true},
		"repository":      {registry.Options{AuthFiles: []string{filepath.Join(regtest.DockerConfig(t, reg.Host+"/team/catalog"), "config.json")}}, true},
	} {
		_, err := newClient(t, c.o).Push(t.Context(), ref, bundles()["catalog"])
		if c.good {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if isA[*registry.UnreachableError](err) == (name == "broken") || isA[*registry.LoginFileError](err) != (name == "broken") {
			t.Errorf("%s: %v, want an *UnreachableError, or a *LoginFileError for what is broken", name, err)
		} else if strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), regtest.Password) {
			t.Errorf("%s: %v shows a password", name, err)
		}
	}
}

func TestNotFound(t *testing.T) {
	t.Parallel()
	reg := regtest.Start(t, regtest.Options{})
	c := newClient(t, registry.Options{})
	if _, err := c.Push(t.Context(), mustParse(t, "oci://"+reg.Host+"/a:v1"), bundles()["catalog"]); err != nil {
		t.Fatal(err)
	}
	layout := "oci-layout://" + filepath.Join(t.TempDir(), "l")
	if _, err := c.Push(t.Context(), mustParse(t, layout+":v1"), bundles()["catalog"]); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{
		"oci://" + reg.Host + "/a:v2", "oci://" + reg.Host + "/a", "oci://" + reg.Host + "/b:v1", "oci://" + reg.Host + "/a@" + someDigest,
		layout + ":v2", layout + "@" + someDigest, layout + "-other:v1", "./nothing.yaml",
	} {
		_, err := c.Resolve(t.Context(), mustParse(t, ref), registry.Want{})
		if !isA[*registry.NotFoundError](err) || !strings.Contains(err.Error(), ref) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	gone := regtest.Serve(t)
	c := newClient(t, registry.Options{})
	for _, ref := range []string{"oci://127.0.0.1:1/a:v1", "https://127.0.0.1:1/x.yaml", "http://127.0.0.1:1/x.yaml"} {
		if _, err := c.Resolve(t.Context(), mustParse(t, ref), registry.Want{}); !isA[*registry.UnreachableError](err) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Resolve(ctx, mustParse(t, "oci://"+gone.Host+"/a:v1"), registry.Want{}); err == nil || ctx.Err() == nil || isA[*registry.UnreachableError](err) {
		t.Errorf("cancelled: %v", err)
	}
}
