package registry

import (
	"context"
	"errors"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Manifests returns the manifests below an artifact's root where that is an index, in its
// order, each once: media type, digest, size and platform. Indexes below it are among
// them, followed by theirs. There are none below a manifest, or what is in neither a
// registry nor a layout. What an index lists beside manifests is left out.
//
// Errors: *TooManyError (more than 1000), and those of Read.
func (c *Client) Manifests(ctx context.Context, a Artifact) ([]ocispec.Descriptor, error) {
	p, ok := a.home()
	if !ok || !isIndexType(a.Root.MediaType) {
		return nil, nil
	}
	w := childWalk{place: p, limit: c.opts.Limits.Manifest, seen: map[digest.Digest]bool{a.Root.Digest: true}}
	err := w.walk(ctx, a.Root, maxNesting)
	return w.found, classify(p.ref, err)
}

// childWalk collects what is below an index.
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
	doc, err := decode(d.MediaType, data)
	if err != nil {
		return &ManifestError{Ref: w.place.ref, Digest: d.Digest, Err: err}
	}
	for _, m := range doc.index.Manifests {
		index := isIndexType(m.MediaType)
		if w.seen[m.Digest] || !index && !isManifestType(m.MediaType) {
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
