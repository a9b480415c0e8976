package registry

import (
	"context"
	"errors"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry/internal/layout"
	"github.com/krmcat/krmcat/registry/internal/manifest"
)

// Manifests returns the manifests below an artifact's root if that is an index, in its order, each
// once: media type, digest, size and platform. Nested indexes are included, followed by their
// manifests. The result is empty for a manifest, and for content that is neither in a registry nor
// in a layout. Entries of an index that are neither manifest nor index are omitted.
//
// Errors: *TooManyError (more than 1000), and those of Read.
func (c *Client) Manifests(ctx context.Context, a Artifact) ([]ocispec.Descriptor, error) {
	p, ok := a.home()
	if !ok || !manifest.IsIndex(a.Root.MediaType) {
		return nil, nil
	}
	found, err := p.below(ctx, a.Root)
	return found, classify(p.ref, err)
}

// Below returns the digests of the manifests and indexes in the index with the given digest, as
// Manifests does, at the place of the artifact. The result is empty if there is no index with that
// digest.
//
// Errors: those of Resolve and of Manifests.
func (a Artifact) Below(ctx context.Context, index digest.Digest) ([]digest.Digest, error) {
	home, ok := a.home()
	if !ok || !isSHA256(index) {
		return nil, nil
	}
	p := *home
	p.loc.Tag, p.loc.Digest = "", index
	p.ref = p.loc.Display()
	root, _, err := p.root(ctx)
	var missing *NotFoundError
	switch err = classify(p.ref, err); {
	case errors.As(err, &missing):
		return nil, nil
	case err != nil && p.isFile(index):
		return nil, nil
	case err != nil:
		return nil, err
	}
	list, err := p.below(ctx, root)
	out := make([]digest.Digest, 0, len(list))
	for _, m := range list {
		out = append(out, m.Digest)
	}
	return out, classify(p.ref, err)
}

// isFile reports whether a blob of a layout is neither a manifest nor an index. A registry does not
// return those as manifests.
func (p *place) isFile(d digest.Digest) bool {
	l, ok := p.target.(*layout.Layout)
	return ok && l.IsFile(d)
}

// below returns the manifests below an index, nil if root is not an index.
func (p *place) below(ctx context.Context, root ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	if !manifest.IsIndex(root.MediaType) {
		return nil, nil
	}
	w := childWalk{place: p, limit: p.client.opts.Limits.Manifest, seen: map[digest.Digest]bool{root.Digest: true}}
	err := w.walk(ctx, root, maxNesting)
	return w.found, err
}

// childWalk collects the manifests below an index.
type childWalk struct {
	place *place
	limit int64
	seen  map[digest.Digest]bool
	found []ocispec.Descriptor
}

func (w *childWalk) walk(ctx context.Context, d ocispec.Descriptor, depth int) error {
	if depth == 0 {
		return &ManifestError{Ref: w.place.ref, Digest: d.Digest, Err: errors.New("indexes are nested too deep")}
	}
	data, err := w.place.get(ctx, d, "manifest", w.limit)
	if err != nil {
		return err
	}
	doc, err := manifest.Decode(d.MediaType, data)
	if err != nil {
		return &ManifestError{Ref: w.place.ref, Digest: d.Digest, Err: err}
	}
	for _, m := range doc.Index.Manifests {
		index := manifest.IsIndex(m.MediaType)
		if w.seen[m.Digest] || !index && !manifest.IsManifest(m.MediaType) {
			continue
		}
		w.seen[m.Digest] = true
		m = ocispec.Descriptor{MediaType: m.MediaType, Digest: m.Digest, Size: m.Size, Platform: m.Platform}
		if w.found = append(w.found, m); len(w.found) > maxListed {
			return &TooManyError{Ref: w.place.ref, Digest: d.Digest, What: "manifests", Limit: maxListed}
		}
		if !index {
			continue
		}
		if err := w.walk(ctx, m, depth-1); err != nil {
			return err
		}
	}
	return nil
}
