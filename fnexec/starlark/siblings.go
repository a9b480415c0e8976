package starlark

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
)

// siblings is the directory of a script that a functionConfig names by its path. The script may
// load files in it.
type siblings string

// of returns the current content of the files that a script loads from its directory, and that
// these load. It implements fnexec.Needs.Beside. It leaves out what has errors: load reports
// them.
func (dir siblings) of(ctx context.Context, t verify.Trusted) ([]registry.Artifact, error) {
	var found []registry.Artifact
	var unread error
	c := &compiler{modules: map[string]*program{}, find: func(name string) ([]byte, error) {
		data, err := dir.read(name)
		switch {
		case err == nil:
			from := reference.Locator{Scheme: reference.SchemeFile, Name: filepath.Join(string(dir), name)}
			found = append(found, registry.Literal(from, mediatypes.RoleStarlark, name, data))
		case !errors.Is(err, errNoModule):
			unread = err
		}
		return data, err
	}}
	if _, err := c.script(ctx, t); err != nil && unread != nil {
		return nil, err
	}
	return found, nil
}

// read reads a file in the directory. Neither names nor links lead out of it.
func (dir siblings) read(name string) ([]byte, error) {
	if path.Base(name) != name {
		return nil, errNoModule
	}
	f, err := ownfile.OpenBelow(string(dir), filepath.Join(string(dir), name))
	if errors.Is(err, os.ErrNotExist) || errors.As(err, new(*ownfile.KindError)) {
		return nil, errNoModule
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was opened for reading
	return io.ReadAll(io.LimitReader(f, maxScript+1))
}
