package verify

import (
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

// within returns the places of a request and what they are on this machine's disk, for denials
// only: a layout is also a directory of files, and links lead to other places. Other rules do not
// use it: systems have links of their own, and requirements for files do not apply to layouts.
func within(r Request, digests ...digest.Digest) []reference.Locator {
	var out []reference.Locator
	for _, l := range append([]reference.Locator{r.Ref}, r.Also...) {
		out = append(out, l)
		if l.Scheme == reference.SchemeLayout {
			out = append(out, layoutFiles(l, digests)...)
		}
	}
	for _, l := range out {
		if !l.Local() || !filepath.IsAbs(l.Name) {
			continue
		}
		if real, err := filepath.EvalSymlinks(l.Name); err == nil && real != filepath.Clean(l.Name) {
			l.Name = real
			out = append(out, l)
		}
		if of, blob := registry.BlobOf(l); blob && !slices.Contains(out, of) { // the files of a layout may be links into another one
			out = append(out, of)
		}
	}
	return out
}

// layoutFiles returns the directory of a layout, and the files in it that are read for these
// digests.
func layoutFiles(l reference.Locator, digests []digest.Digest) []reference.Locator {
	file := func(names ...string) reference.Locator {
		return reference.Locator{Scheme: reference.SchemeFile, Name: filepath.Join(append([]string{l.Name}, names...)...), Digest: l.Digest}
	}
	out := []reference.Locator{file(), file("index.json")}
	for _, d := range append([]digest.Digest{l.Digest}, digests...) {
		if d.Validate() == nil {
			out = append(out, file("blobs", d.Algorithm().String(), d.Encoded()))
		}
	}
	return out
}

// covers reports whether a pattern of a denial matches one of the places, as written or after
// resolving links in it.
func covers(p reference.Pattern, places []reference.Locator) bool {
	real, led := p.FollowLinks(filepath.EvalSymlinks)
	return slices.ContainsFunc(places, func(l reference.Locator) bool {
		return p.Match(l) || p.MayMatch(l) || led && (real.Match(l) || real.MayMatch(l))
	})
}
