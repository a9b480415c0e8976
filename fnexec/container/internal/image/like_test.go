package image

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/internal/regtest"
)

// TestLikeCrane: what is unpacked is what crane export writes into one archive. (Opaque
// whiteouts it does not know.)
func TestLikeCrane(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	crane := regtest.Tool(t, "crane")
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
	var stderr bytes.Buffer
	cmd := exec.Command(crane, "export", "--insecure", f.Host+"/image@"+a.Root.Digest.String(), "-")
	cmd.Stderr = &stderr
	archive, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	flat, err := unpackLayers(t, bounds{}, archive)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(listing(t, flat.root), listing(t, got.root)); diff != "" {
		t.Errorf("crane has -, krmcat has +\n%s", diff)
	}
}
