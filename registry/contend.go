package registry

import (
	"context"
	"slices"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry/internal/manifest"
	"github.com/krmcat/krmcat/registry/internal/transport"
)

// settleWait is the maximum time before the first check of what was written.
const settleWait = 100 * time.Millisecond

// toRegistry writes, checks the result, and writes again if others have overwritten it: registries
// have no locks for reading, changing and writing a tag.
func (w *attacher) toRegistry(ctx context.Context) (ocispec.Descriptor, error) {
	retry := w.place.client.retry
	for attempt := 0; ; attempt++ {
		root, stayed, err := w.tryRegistry(ctx, attempt > 0)
		switch {
		case err != nil:
			return ocispec.Descriptor{}, classify(w.place.ref, err)
		case stayed:
			return root, nil
		case attempt >= retry.Max:
			return ocispec.Descriptor{}, &ConflictError{Ref: w.place.ref, Tag: w.shared()}
		}
		if err := transport.Sleep(ctx, retry.Wait(attempt)); err != nil {
			return ocispec.Descriptor{}, classify(w.place.ref, err)
		}
	}
}

// tryRegistry writes once, and reports whether the attachment is still there afterwards. contested
// says that others were seen to write.
func (w *attacher) tryRegistry(ctx context.Context, contested bool) (root ocispec.Descriptor, stayed bool, err error) {
	p, err := w.pack(ctx)
	if err != nil {
		return root, false, err
	}
	up, err := w.place.client.upload(ctx, w.place.loc)
	if err != nil {
		return root, false, err
	}
	if err := up.blobs(ctx, p); err != nil {
		return root, false, err
	}
	start := time.Now()
	// Uploading takes long: others may have changed the tag since it was read.
	if moved, err := w.moved(ctx); err != nil || moved {
		return root, false, err
	}
	if err := up.manifests(ctx, p, w.tags()); err != nil {
		return root, false, err
	}
	if w.listed.api {
		return p.Root, true, nil // the registry maintains the list
	}
	return w.settle(ctx, p.Root, time.Since(start), contested)
}

// shared returns the tag that others may write too.
func (w *attacher) shared() string {
	if w.a.Tag != "" {
		return w.a.Tag
	}
	return manifest.FallbackTag(w.subject.Digest)
}

// moved reports whether the tag was changed since join read it. oras-go reads a fallback tag
// directly before it writes it.
func (w *attacher) moved(ctx context.Context) (bool, error) {
	if w.a.Tag == "" {
		return false, nil
	}
	t, _, err := w.place.tagged(ctx, w.a.Tag)
	return t.desc.Digest != w.joined, err
}

// settle reports whether the attachment stays. Another client that read before and writes later
// would remove it. So settle waits as long as this write took, which is an estimate for theirs,
// before it checks. If others were seen to write, it checks twice.
func (w *attacher) settle(ctx context.Context, root ocispec.Descriptor, took time.Duration, contested bool) (ocispec.Descriptor, bool, error) {
	first := transport.Retry{MinWait: took, MaxWait: settleWait}
	seen, err := w.look(ctx, first.Wait(0), root)
	if err == nil && seen.there && (contested || seen.changed) {
		seen, err = w.look(ctx, w.place.client.retry.Wait(0), root)
	}
	return seen.root, seen.there, err
}

// observation is the state of a tag or list after writing.
type observation struct {
	root    ocispec.Descriptor // the attachment's current manifest, which others may have extended
	there   bool               // the attachment is present
	changed bool               // others have changed it
}

// look waits, then reads the tag or list.
func (w *attacher) look(ctx context.Context, wait time.Duration, root ocispec.Descriptor) (observation, error) {
	if err := transport.Sleep(ctx, wait); err != nil {
		return observation{}, err
	}
	if w.a.Tag == "" {
		return w.lookInList(ctx, root)
	}
	t, there, err := w.place.tagged(ctx, w.a.Tag)
	if err != nil || !there || t.doc.Manifest == nil {
		return observation{}, err
	}
	s := observation{root: t.desc, there: true, changed: t.desc.Digest != root.Digest}
	s.root.ArtifactType = t.doc.Manifest.ArtifactType
	for _, f := range w.a.Files {
		s.there = s.there && holds(t.doc.Manifest.Layers, layerOf(f))
	}
	return s, nil
}

// lookInList reads the fallback tag first, because the registry had no referrers API a moment ago,
// and then the API: some registries only report it once there is a referrer.
func (w *attacher) lookInList(ctx context.Context, root ocispec.Descriptor) (observation, error) {
	r, ours := w.reader(), func(d ocispec.Descriptor) bool { return d.Digest == root.Digest }
	entries, err := r.fallback(ctx)
	if err != nil {
		return observation{}, err
	}
	before := slices.DeleteFunc(slices.Clone(w.listed.entries), ours)
	s := observation{root: root, there: slices.ContainsFunc(entries, ours), changed: len(entries) != len(before)+1}
	if s.there {
		return s, nil
	}
	l, err := r.list(ctx)
	s.there = l.api && slices.ContainsFunc(l.found, ours)
	return s, err
}
