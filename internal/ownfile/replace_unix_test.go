//go:build unix

package ownfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// owned is the metadata of a file with an owner.
type owned struct {
	fs.FileInfo
	by uint32
}

func (o owned) Sys() any { return &syscall.Stat_t{Uid: o.by} }

// TestMayReplace: in a directory like /tmp only the owner of the file, the owner of the directory
// and root may replace a file.
func TestMayReplace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		uid       int
		file, dir uint32
		want      bool
	}{{1, 1, 0, true}, {1, 2, 1, true}, {1, 2, 0, false}, {1, 0, 0, false}, {0, 2, 1, true}} {
		if got := mayReplace(c.uid, owned{by: c.file}, owned{by: c.dir}); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// TestFreeInSharedDirectory checks that a user may replace own files in a directory like /tmp.
func TestFreeInSharedDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if mode, err := Free(path); err != nil || mode != 0o600 {
		t.Errorf("got %v, %v", mode, err)
	}
}
