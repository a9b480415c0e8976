package registry

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry/reference"
)

// SchemeError reports that a reference without scheme, HOST/REPO:TAG or DIR:TAG of a layout, is not
// a path of a file.
type SchemeError struct {
	Ref    string // as written
	Scheme string // the missing scheme
	Try    string // what to do, "" for Mended
}

// Error names the missing scheme.
func (e *SchemeError) Error() string {
	what := "a registry"
	if e.Scheme == reference.SchemeLayout {
		what = "an OCI layout"
	}
	return e.Ref + ": no such file or directory, and for " + what + " the " + e.Scheme + ":// is missing"
}

// Is implements the kind of the error for errors.Is.
func (*SchemeError) Is(kind error) bool { return kind == failure.NotFound }

// Details implements failure.Detailed.
func (e *SchemeError) Details() failure.Details {
	return failure.Details{Reference: e.Ref, Try: cmp.Or(e.Try, e.Mended())}
}

// Mended returns the reference with its scheme, as a shell reads it.
func (e *SchemeError) Mended() string { return failure.ShellWord(e.Scheme + "://" + e.Ref) }

// MissingScheme returns the error about a reference that is the path of no file, and whose scheme
// is missing. It returns nil for any other. written is how the user wrote it, at is where it is.
func MissingScheme(written string, at reference.Locator) *SchemeError {
	if at.Scheme != reference.SchemeFile || strings.Contains(written, "://") {
		return nil
	}
	if _, err := os.Lstat(filepath.FromSlash(at.Name)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	switch {
	case likeLayout(at.Name):
		return &SchemeError{Ref: written, Scheme: reference.SchemeLayout}
	case LikeRegistry(written):
		return &SchemeError{Ref: written, Scheme: reference.SchemeOCI}
	}
	return nil
}

// likeLayout reports whether a path is DIR:TAG, where DIR is an OCI layout.
func likeLayout(name string) bool {
	as, err := reference.Parse(reference.SchemeLayout + "://" + name)
	if err != nil || cmp.Or(as.Tag, string(as.Digest)) == "" {
		return false
	}
	_, err = os.Lstat(filepath.Join(filepath.FromSlash(as.Name), ocispec.ImageLayoutFile))
	return err == nil
}

// LikeRegistry reports whether a path looks like HOST/REPO:TAG.
func LikeRegistry(written string) bool {
	host, _, slash := strings.Cut(written, "/")
	if !slash || strings.HasPrefix(host, ".") || slices.Contains([]string{".yaml", ".yml", ".json", ".star"}, path.Ext(written)) {
		return false
	}
	_, err := reference.Parse(reference.SchemeOCI + "://" + written)
	return err == nil && (host == "localhost" || strings.ContainsAny(host, ".:"))
}
