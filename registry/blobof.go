package registry

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry/reference"
)

// BlobOf finds the repository or the layout that a URL or a file is a blob of: the URL by its
// path, as the distribution API has it, and the file, wherever links lead, by its directory.
func BlobOf(l reference.Locator) (reference.Locator, bool) {
	if l.Scheme == reference.SchemeFile {
		return blobOfLayout(l)
	}
	return l.BlobOf()
}

func blobOfLayout(l reference.Locator) (reference.Locator, bool) {
	real, err := filepath.EvalSymlinks(l.Name)
	if err != nil {
		return reference.Locator{}, false // for whoever opens it to say
	}
	algorithm := filepath.Dir(real)
	blobs := filepath.Dir(algorithm)
	dir := filepath.Dir(blobs)
	// Some file systems take upper case for lower.
	if !strings.EqualFold(filepath.Base(algorithm), digest.SHA256.String()) || !strings.EqualFold(filepath.Base(blobs), ocispec.ImageBlobsDir) {
		return reference.Locator{}, false
	}
	if _, err := os.Lstat(filepath.Join(dir, ocispec.ImageLayoutFile)); err != nil {
		return reference.Locator{}, false
	}
	return reference.Locator{Scheme: reference.SchemeLayout, Name: dir}, true
}
