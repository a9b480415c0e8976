package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
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
	return l, noScheme(text, "")
}

// trustedPlaces parses the values of --trusted-catalog.
func trustedPlaces(c *cli.Context, list []string) error {
	for _, text := range list {
		if _, err := reference.Parse(text); err != nil {
			return usage(c, "--trusted-catalog: %v", err)
		}
		if err := noScheme(text, "--trusted-catalog "); err != nil {
			return err
		}
	}
	return nil
}

// noSchemeError reports that a reference without scheme, HOST/REPO:TAG or DIR:TAG of a layout, is
// not a path of a file.
type noSchemeError struct {
	ref    string
	flag   string // the flag and a space, "" for an argument
	scheme string // the missing scheme
}

func (e *noSchemeError) Error() string {
	what := "a registry"
	if e.scheme == reference.SchemeLayout {
		what = "an OCI layout"
	}
	return e.ref + ": no such file or directory, and for " + what + " the " + e.scheme + ":// is missing"
}

// Is implements the kind of the error for errors.Is.
func (*noSchemeError) Is(kind error) bool { return kind == failure.NotFound }

// Details implements failure.Detailed.
func (e *noSchemeError) Details() failure.Details {
	return failure.Details{Reference: e.ref, Try: e.flag + failure.ShellWord(e.scheme+"://"+e.ref)}
}

func noScheme(text, flag string) error {
	scheme := reference.SchemeOCI
	switch {
	case likeLayout(text):
		scheme = reference.SchemeLayout
	case !likeRegistry(text):
		return nil
	}
	if _, err := os.Lstat(text); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &noSchemeError{text, flag, scheme}
}

// likeLayout reports whether a path is DIR:TAG, where DIR is an OCI layout.
func likeLayout(text string) bool {
	as, err := reference.Parse(reference.SchemeLayout + "://" + text)
	if l, perr := reference.Parse(text); err != nil || perr != nil || l.Scheme != reference.SchemeFile || as.Tag == "" && as.Digest == "" {
		return false
	}
	_, err = os.Lstat(filepath.Join(filepath.FromSlash(as.Name), ocispec.ImageLayoutFile))
	return err == nil
}

// likeRegistry reports whether a path looks like HOST/REPO:TAG.
func likeRegistry(text string) bool {
	host, _, slash := strings.Cut(text, "/")
	if !slash || strings.HasPrefix(host, ".") || slices.Contains([]string{".yaml", ".yml", ".json", ".star"}, path.Ext(text)) {
		return false
	}
	_, err := reference.Parse("oci://" + text)
	return err == nil && (host == "localhost" || strings.ContainsAny(host, ".:"))
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
