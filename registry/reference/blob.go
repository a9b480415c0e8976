package reference

import (
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// BlobOf returns the repository that a URL is a blob of, by the paths of the OCI distribution
// specification (/v2/NAME/blobs/DIGEST), and reports whether it is one.
func (l Locator) BlobOf() (of Locator, found bool) {
	if l.Scheme != SchemeHTTPS {
		return Locator{}, false
	}
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
