package ownfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/krmcat/krmcat/internal/ownfile"
)

// TestOpenBelow opens what is in a directory or below it, and nothing that a link or a path
// leads to beyond it.
func TestOpenBelow(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	lay(t, root, `
d in 755
d in/sub 755
d out 755
f in/file 644
f in/sub/file 644
f out/file 644
l in/near sub/file
l in/round sub/../file
l in/far ../out/file
l in/whole DIR/out/file
l in/away ../out
l in/none nowhere
l in/nowhere-out ../out/nowhere
l in/self self
`)
	const opened, beyond, missing, kind, other = "opened", "beyond", "missing", "kind", "other"
	for path, want := range map[string]string{
		"in/file": opened, "in/sub/file": opened, "in/near": opened, "in/round": opened,
		"in/far": beyond, "in/whole": beyond, "in/away/file": beyond, "out/file": beyond, "out/nowhere": beyond,
		"in/nofile": missing, "in/none": missing, "in/nowhere-out": missing,
		"in/sub": kind, "in": kind, "in/self": other, "in/file/x": other,
	} {
		f, err := ownfile.OpenBelow(filepath.Join(root, "in"), filepath.Join(root, path))
		got := other
		var out *ownfile.BeyondError
		var no *ownfile.KindError
		switch {
		case err == nil:
			got = opened
			if text, err := io.ReadAll(f); err != nil || string(text) != "text" {
				t.Errorf("%s: read %q, %v", path, text, err)
			}
			_ = f.Close()
		case errors.As(err, &out):
			got = beyond
		case errors.As(err, &no):
			got = kind
		case errors.Is(err, fs.ErrNotExist):
			got = missing
		}
		if got != want {
			t.Errorf("%s: %s (%v), want %s", path, got, err, want)
		}
	}
	if _, err := ownfile.OpenBelow(filepath.Join(root, "gone"), filepath.Join(root, "gone", "file")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that is gone: %v", err)
	}
}
