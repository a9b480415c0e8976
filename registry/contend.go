package registry

import (
	"context"
	"slices"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry/internal/transport"
)

// settleWait bounds the wait before the first look at what was written.
const settleWait = 100 * time.Millisecond

// toRegistry writes, looks whether it stayed, and writes again where it did not: a tag that
// is read, changed and written has no lock, and whoever writes last wins.
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

// tryRegistry writes once, and reports whether it stayed. contested says that others are
// known to write there too.
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
	// To upload takes long: what was read before it may be old, and is not written over.
	if moved, err := w.moved(ctx); err != nil || moved {
		return root, false, err
	}
	if err := up.manifests(ctx, p, w.tags()); err != nil {
		return root, false, err
	}
	if w.listed.api {
		return p.root, true, nil // the registry keeps the list itself
	}
	return w.settle(ctx, p.root, time.Since(start), contested)
}

// shared is the tag that others may write too.
func (w *attacher) shared() string {
	if w.a.Tag != "" {
		return w.a.Tag
	}
	return fallbackTag(w.subject.Digest)
}

// moved reports whether the tag is no longer what was joined. The fallback tag is read by
// oras-go right before it is written.
func (w *attacher) moved(ctx context.Context) (bool, error) {
	if w.a.Tag == "" {
		return false, nil
	}
	t, _, err := w.place.tagged(ctx, w.a.Tag)
	return t.desc.Digest != w.joined, err
}

// settle looks whether what was written stays. Someone else who read before that, and
// writes later, takes it away: the look waits as long as our own change took, which is as
// long as theirs should take. Where others were seen at work, there is a second look.
func (w *attacher) settle(ctx context.Context, root ocispec.Descriptor, took time.Duration, contested bool) (ocispec.Descriptor, bool, error) {
	first := transport.Retry{MinWait: took, MaxWait: settleWait}
	seen, err := w.look(ctx, first.Wait(0), root)
	if err == nil && seen.there && (contested || seen.changed) {
		seen, err = w.look(ctx, w.place.client.retry.Wait(0), root)
	}
	return seen.root, seen.there, err
}

// observation is what was seen where others may write too.
type observation struct {
	root    ocispec.Descriptor // the attachment's manifest as it now is: others may have added to it
	there   bool               // what was attached
	changed bool               // by others
}

func (w *attacher) look(ctx context.Context, wait time.Duration, root ocispec.Descriptor) (observation, error) {
	if err := transport.Sleep(ctx, wait); err != nil {
		return observation{}, err
	}
	if w.a.Tag == "" {
		return w.lookInList(ctx, root)
	}
	t, there, err := w.place.tagged(ctx, w.a.Tag)
	if err != nil || !there || t.doc.manifest == nil {
		return observation{}, err
	}
	s := observation{root: t.desc, there: true, changed: t.desc.Digest != root.Digest}
	s.root.ArtifactType = t.doc.manifest.ArtifactType
	for _, f := range w.a.Files {
		s.there = s.there && holds(t.doc.manifest.Layers, layerOf(f))
	}
	return s, nil
}

// lookInList looks at the fallback tag first: the registry had no referrers API a moment
// ago. Some say so only until there is a referrer, so that a miss is not the last word.
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
