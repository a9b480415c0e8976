package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/render"
)

// place parses a reference that the user typed.
func place(c *cli.Context, text string) (reference.Locator, error) {
	l, err := reference.Parse(text)
	if err != nil {
		return l, usage(c, "%v", err)
	}
	if missing := registry.MissingScheme(text, l); missing != nil {
		return l, missing
	}
	return l, nil
}

// trustedPlaces parses the values of --trusted-catalog.
func trustedPlaces(c *cli.Context, list []string) error {
	for _, text := range list {
		l, err := reference.Parse(text)
		if err != nil {
			return usage(c, "--trusted-catalog: %v", err)
		}
		if missing := registry.MissingScheme(text, l); missing != nil {
			missing.Try = "--trusted-catalog " + missing.Mended()
			return missing
		}
	}
	return nil
}

// readFile reads a file that the user named, "-" for stdin, with a limit in bytes.
func (e *env) readFile(name string, limit int64) ([]byte, error) {
	if name == "-" {
		return readUpTo(e.Stdin, name, limit)
	}
	open := ownfile.Open
	if handedOver(name) {
		open = os.Open // a pipe, as a shell makes one for <(command)
	}
	f, err := open(name)
	if err != nil {
		return nil, &notThereError{path: name, err: err}
	}
	defer func() { _ = f.Close() }() // only read from
	return readUpTo(f, name, limit)
}

// handedOver reports whether a path is that of an open file descriptor, as of <(command).
func handedOver(path string) bool {
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

// readUpTo reads a whole file. A larger one than the limit, in bytes, is an error.
func readUpTo(in io.Reader, name string, limit int64) ([]byte, error) {
	data, err := bounded.Read(in, limit)
	switch {
	case errors.Is(err, bounded.ErrMore):
		return nil, &registry.TooLargeError{Ref: name, What: "file", Limit: limit}
	case err != nil:
		return nil, &notThereError{path: name, err: err}
	}
	return data, nil
}

// fetched is a catalog and its artifact.
type fetched struct {
	*catalog.Catalog
	artifact registry.Artifact
}

// catalog reads a catalog for display, which needs no trust.
func (e *env) catalog(ctx context.Context, o registry.Options, l reference.Locator) (fetched, error) {
	client, err := e.client(o)
	if err != nil {
		return fetched{}, err
	}
	a, err := client.Resolve(ctx, l, registry.Want{Role: mediatypes.RoleCatalog})
	if err != nil {
		return fetched{}, err
	}
	if len(a.Files) == 0 {
		return fetched{}, failure.Untrusted.Mark(errors.New(a.Pinned().String() + ": it contains no file"))
	}
	data, err := a.ReadFile(ctx, 0)
	if err != nil {
		return fetched{}, err
	}
	c, err := catalog.Decode(l.String(), data)
	return fetched{c, a}, render.Malformed(err)
}

// unique removes repeated texts and the empty one.
func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
