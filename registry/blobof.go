package registry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// blobOf finds the repository or the layout that a URL or a file is a blob of: the URL by its
// path, as the distribution API has it, and the file, wherever links lead, by its directory.
func (l Locator) blobOf() (Locator, bool) {
	switch l.Scheme {
	case SchemeHTTPS:
		return l.blobOfRepository()
	case SchemeFile:
		return l.blobOfLayout()
	}
	return Locator{}, false
}

func (l Locator) blobOfRepository() (Locator, bool) {
	p, _ := l.canonical().parts()
	segs := loosely(p)
	n := len(segs) - 2
	start := slices.Index(segs, "v2") + 1
	if start == 0 || n <= start || segs[n] != ocispec.ImageBlobsDir || digest.Digest(segs[n+1]).Validate() != nil {
		return Locator{}, false
	}
	_, host := cutRoot(p.root)
	return Locator{Scheme: SchemeOCI, Name: host + "/" + strings.Join(segs[start:n], "/")}, true
}

func (l Locator) blobOfLayout() (Locator, bool) {
	real, err := filepath.EvalSymlinks(l.Name)
	if err != nil {
		return Locator{}, false // for whoever opens it to say
	}
	algorithm := filepath.Dir(real)
	blobs := filepath.Dir(algorithm)
	dir := filepath.Dir(blobs)
	// Some file systems take upper case for lower.
	if !strings.EqualFold(filepath.Base(algorithm), digest.SHA256.String()) || !strings.EqualFold(filepath.Base(blobs), ocispec.ImageBlobsDir) {
		return Locator{}, false
	}
	if _, err := os.Lstat(filepath.Join(dir, ocispec.ImageLayoutFile)); err != nil {
		return Locator{}, false
	}
	return Locator{Scheme: SchemeLayout, Name: dir}, true
}
