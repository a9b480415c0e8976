package pipeline

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/refusal"
)

// The largest files that are read.
const (
	maxFile = 16 << 20  // a kustomization, a Composition, function configs
	maxData = 256 << 20 // what kustomize reads: resources, patches, data
)

// readRegular reads a file, and nothing that only looks like one: a device has no end, and
// to open a pipe is to wait for whoever writes to it.
func readRegular(fsys filesys.FileSystem, path string, limit int64) ([]byte, error) {
	real, err := realFile(fsys, path)
	if err != nil {
		return nil, err
	}
	return readReal(fsys, real, limit)
}

// realFile follows the links of a path that leads to no directory.
func realFile(fsys filesys.FileSystem, path string) (string, error) {
	dir, name, err := fsys.CleanedAbs(path)
	if err == nil && name == "" {
		err = &ownfile.KindError{Mode: fs.ModeDir}
	}
	return dir.Join(name), err
}

// readReal is readRegular for a path without links.
func readReal(fsys filesys.FileSystem, real string, limit int64) ([]byte, error) {
	var mode fs.FileMode
	err := fsys.Walk(real, func(_ string, info fs.FileInfo, err error) error {
		if err == nil {
			mode = info.Mode()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !mode.IsRegular() {
		return nil, &ownfile.KindError{Mode: mode}
	}
	f, err := fsys.Open(real)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = refusal.Content(fmt.Errorf("it is larger than %d MiB", limit>>20))
	}
	return data, err
}

// readConfigFile reads a file of the target's own. path is where it is, display what a
// person calls it.
func readConfigFile(fsys filesys.FileSystem, path, display string) ([]byte, error) {
	data, err := readRegular(fsys, path, maxFile)
	if err != nil {
		return nil, &SyntaxError{Where: display, Msg: "cannot be read", Err: err, missing: errors.Is(err, fs.ErrNotExist)}
	}
	return data, nil
}

// within tells whether a real path lies in or below a real directory.
func within(dir, path string) bool {
	return filesys.ConfirmedDir(filepath.Dir(path)).HasPrefix(filesys.ConfirmedDir(dir))
}
