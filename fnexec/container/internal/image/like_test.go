package image

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/internal/livetest"
	"github.com/krmcat/krmcat/internal/regtest"
)

// TestLikeCrane compares an unpacked image with the archive of crane export, which does not
// support opaque whiteouts. The files of that archive are stored, by the digest of the image.
func TestLikeCrane(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	results := livetest.Open(t, "testdata/crane-export.txtar")
	f := regtest.Serve(t)
	a := publish(t, f, "",
		zip(t, pack(t, directory("a/"), regular("a/x", "1"), regular("a/y", "1"), directory("a/d/"), regular("a/d/z", "1"), symlink("l", "a/x"), directory("o/"), regular("o/1", "1"))),
		zip(t, pack(t, directory("a/"), regular("a/.wh.x", ""), regular("a/n", "2"), regular(".wh.l", ""), directory("o/"), regular("o/2", "2"))),
		zip(t, pack(t, regular("a/.wh.d", ""), regular("l", "3"), hardlink("h", "l"))))
	s := newStore(cacheDir(t), bounds{})
	got, err := s.get(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	prefix := a.Root.Digest.String() + "/"
	want := map[string]string{}
	for path, is := range results.Below(prefix) {
		want[strings.TrimPrefix(path, prefix)] = string(is)
	}
	if livetest.On() {
		want = exported(t, f.Host+"/image@"+a.Root.Digest.String())
		parts := map[string][]byte{}
		for path, is := range want {
			parts[prefix+path] = []byte(is)
		}
		if err := results.Same("", parts, nil); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, listing(t, got.root)); diff != "" {
		t.Errorf("crane has -, krmcat has +\n%s", diff)
	}
}

// exported lists what crane export writes of an image.
func exported(t *testing.T, ref string) map[string]string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(livetest.Tool(t, "crane"), "export", "--insecure", ref, "-")
	cmd.Stderr = &stderr
	archive, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	flat, err := unpackLayers(t, bounds{}, archive)
	if err != nil {
		t.Fatal(err)
	}
	return listing(t, flat.root)
}
