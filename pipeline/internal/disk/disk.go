package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
)

// MaxData is the maximum size of a file that kustomize reads, in bytes: resources, patches, data.
const MaxData = 256 << 20

// Read reads a plain file of at most limit bytes. Others are refused: a device may have no end, and
// opening a pipe waits for a writer.
//
// Errors: *ownfile.KindError, failure.Untrusted if the file is larger, and those of fsys.
func Read(fsys filesys.FileSystem, path string, limit int64) ([]byte, error) {
	real, err := Real(fsys, path)
	if err != nil {
		return nil, err
	}
	return ReadReal(fsys, real, limit)
}

// Real returns the path of a file after links are resolved.
func Real(fsys filesys.FileSystem, path string) (string, error) {
	dir, name, err := fsys.CleanedAbs(path)
	if err == nil && name == "" {
		err = &ownfile.KindError{Mode: fs.ModeDir}
	}
	return dir.Join(name), err
}

// ReadReal is Read for a path without links.
func ReadReal(fsys filesys.FileSystem, real string, limit int64) ([]byte, error) {
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
	data, err := bounded.Read(f, limit)
	if errors.Is(err, bounded.ErrMore) {
		err = failure.Untrusted.Mark(fmt.Errorf("it is larger than %d MiB", limit>>20))
	}
	return data, err
}

// Within reports whether a real path is in or below a real directory.
func Within(dir, path string) bool {
	return filesys.ConfirmedDir(filepath.Dir(path)).HasPrefix(filesys.ConfirmedDir(dir))
}

// RestrictedError reports a file that the load restrictor does not permit.
type RestrictedError struct {
	Path string // absolute, as it was named
	Dir  string // the directory that it must be in or below
}

// Error has the path and the directory.
func (e *RestrictedError) Error() string {
	return e.Path + " is not in or below " + e.Dir + ", and the load restrictor keeps files there"
}

// AnywhereFlag is the flag of `kustomize build` that turns the load restrictor off.
const AnywhereFlag = "--load-restrictor LoadRestrictionsNone"

// Flag returns the flag of `kustomize build` that permits it.
func (*RestrictedError) Flag() string { return AnywhereFlag }

// Is implements the kind of the error for errors.Is.
func (*RestrictedError) Is(kind error) bool { return kind == failure.NotPermitted }

// Details implements failure.Detailed.
func (*RestrictedError) Details() failure.Details { return failure.Details{Flag: AnywhereFlag} }
