package registry

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry/reference"
)

// BlobOf returns the repository or layout that contains a URL or file as a blob, and reports
// whether there is one: a URL by its path in the distribution API, a file by its directory after
// links are resolved.
func BlobOf(l reference.Locator) (reference.Locator, bool) {
	if l.Scheme == reference.SchemeFile {
		return blobOfLayout(l)
	}
	return l.BlobOf()
}

func blobOfLayout(l reference.Locator) (reference.Locator, bool) {
	real, err := filepath.EvalSymlinks(l.Name)
	if err != nil {
		return reference.Locator{}, false // opening the file reports the error
	}
	algorithm := filepath.Dir(real)
	blobs := filepath.Dir(algorithm)
	dir := filepath.Dir(blobs)
	// Some file systems ignore case.
	if !strings.EqualFold(filepath.Base(algorithm), digest.SHA256.String()) || !strings.EqualFold(filepath.Base(blobs), ocispec.ImageBlobsDir) {
		return reference.Locator{}, false
	}
	if _, err := os.Lstat(filepath.Join(dir, ocispec.ImageLayoutFile)); err != nil {
		return reference.Locator{}, false
	}
	return reference.Locator{Scheme: reference.SchemeLayout, Name: dir}, true
}
