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

// siblings is the directory of a script that a functionConfig names by its path: the script
// may load the files that stand there.
type siblings string

// of gives the files that a script loads from its directory, and those that they load, as they
// are now. It implements fnexec.Needs.Beside. What is wrong with the scripts is for load to say:
// it knows no other files.
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

// read reads a file of the directory. Nothing outside of it can be named, by links neither.
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
	defer func() { _ = f.Close() }() // only read from
	return io.ReadAll(io.LimitReader(f, maxScript+1))
}
