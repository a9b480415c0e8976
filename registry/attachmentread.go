package registry

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/krmcat/krmcat/registry/internal/manifest"
	"github.com/krmcat/krmcat/registry/reference"
)

// parallelReads is the number of manifests, and of files of each, that are read at a time.
const parallelReads = 6

// attachmentReader evaluates a Query for one manifest.
type attachmentReader struct {
	place   *place
	subject digest.Digest
	query   Query
	budget  *budget
}

func (r attachmentReader) read(ctx context.Context) ([]Attachment, error) {
	tagged := make([]*Attachment, len(r.query.Tags))
	var referring []*Attachment
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelReads)
	if len(r.query.ArtifactTypes) > 0 {
		g.Go(func() (err error) {
			referring, err = r.referrers(ctx)
			return err
		})
	}
	for i, tag := range r.query.Tags {
		g.Go(func() (err error) {
			tagged[i], err = r.underTag(ctx, tag)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var found []Attachment
	for _, a := range slices.Concat(tagged, referring) {
		if a != nil {
			found = append(found, *a)
		}
	}
	return found, nil
}

// underTag returns the attachment under a tag, nil for none.
func (r attachmentReader) underTag(ctx context.Context, tag string) (*Attachment, error) {
	t, there, err := r.place.tagged(ctx, tag)
	if err != nil || !there {
		return nil, err
	}
	if t.doc.Manifest == nil {
		return nil, t.malformed(errors.New("expected an attachment, found an index"))
	}
	return r.files(ctx, Attachment{Manifest: t.desc, Tag: tag}, t.doc.Manifest)
}

// referrers returns the selected referrers. An entry is nil if its manifest is not one.
func (r attachmentReader) referrers(ctx context.Context) ([]*Attachment, error) {
	l, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	listed := l.found
	if r.place.loc.Scheme == reference.SchemeOCI && len(listed) > maxAttachments {
		return nil, r.tooMany("attachments", maxAttachments)
	}
	found := make([]*Attachment, len(listed))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelReads)
	for i, d := range listed {
		g.Go(func() (err error) {
			if found[i], err = r.referrer(ctx, d); errors.Is(err, errNotAttached) {
				return nil
			}
			return err
		})
	}
	return found, g.Wait()
}

var errNotAttached = errors.New("it is not attached")

// referrer reads one listed manifest. The list may be wrong, so only the manifest itself decides.
func (r attachmentReader) referrer(ctx context.Context, d ocispec.Descriptor) (*Attachment, error) {
	data, err := r.place.get(ctx, d, "manifest", r.place.client.opts.Limits.Manifest)
	if errors.As(err, new(*NotFoundError)) {
		return nil, errNotAttached // removed but still listed
	}
	if err != nil {
		return nil, err
	}
	doc, err := manifest.Decode(d.MediaType, data)
	if err != nil {
		if d.ArtifactType == "" {
			return nil, errNotAttached // a layout also lists content that is not a referrer
		}
		return nil, &ManifestError{Ref: r.place.ref, Digest: d.Digest, Err: err}
	}
	m := doc.Manifest
	if m == nil || m.Subject == nil || m.Subject.Digest != r.subject ||
		!r.query.wants(attachmentType(m)) || !r.query.allows(m.Annotations) {
		return nil, errNotAttached
	}
	d.MediaType = doc.MediaType
	return r.files(ctx, Attachment{Manifest: d}, m)
}

// attachmentType returns the artifact type of a manifest as the referrers API defines it.
func attachmentType(m *ocispec.Manifest) string {
	if m.ArtifactType != "" {
		return m.ArtifactType
	}
	return m.Config.MediaType
}

// files fills in an attachment from its manifest and reads its files.
func (r attachmentReader) files(ctx context.Context, a Attachment, m *ocispec.Manifest) (*Attachment, error) {
	if err := r.budget.take(r.place.ref, m.Layers); err != nil {
		return nil, err
	}
	a.ArtifactType, a.Annotations = attachmentType(m), m.Annotations
	a.Manifest = ocispec.Descriptor{
		MediaType: a.Manifest.MediaType, Digest: a.Manifest.Digest, Size: a.Manifest.Size, ArtifactType: m.ArtifactType,
	}
	a.Files = make([]AttachedFile, len(m.Layers))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelReads)
	for i, d := range m.Layers {
		d.Data = nil // data embedded in the manifest is not verified
		g.Go(func() (err error) {
			a.Files[i].Descriptor = d
			a.Files[i].Data, err = r.place.get(ctx, d, "attached file", maxAttachedFile)
			return err
		})
	}
	return &a, g.Wait()
}

func (r attachmentReader) tooMany(what string, limit int) error {
	return &TooManyError{Ref: r.place.ref, Digest: r.subject, What: what, Limit: limit}
}

// budget counts what was read of all attachments of one manifest.
type budget struct {
	mu          sync.Mutex
	attachments int
	files       int
	bytes       int64
}

// take adds one attachment, before its content is read.
func (b *budget) take(ref string, layers []ocispec.Descriptor) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attachments++
	if b.attachments > maxAttachments {
		return &TooManyError{Ref: ref, What: "attachments", Limit: maxAttachments}
	}
	for _, d := range layers {
		if d.Size > maxAttachedFile {
			return &TooLargeError{Ref: ref, What: "attached file", Size: d.Size, Limit: maxAttachedFile}
		}
		b.files++
		b.bytes += d.Size
	}
	switch {
	case b.files > maxAttachedFiles:
		return &TooManyError{Ref: ref, What: "attached files", Limit: maxAttachedFiles}
	case b.bytes > maxAttachedBytes:
		return &TooLargeError{Ref: ref, What: "content of all attachments", Size: b.bytes, Limit: maxAttachedBytes}
	}
	return nil
}

// taggedDoc is the manifest or index under a tag.
type taggedDoc struct {
	ref  string
	desc ocispec.Descriptor
	doc  manifest.Document
}

func (t taggedDoc) malformed(err error) error {
	return &ManifestError{Ref: t.ref, Digest: t.desc.Digest, Err: err}
}

// tagged returns the manifest or index under another tag of the same place, and reports whether the
// tag exists. A tag whose manifest is missing is an error.
func (p *place) tagged(ctx context.Context, tag string) (t taggedDoc, there bool, err error) {
	l := reference.Locator{Scheme: p.loc.Scheme, Name: p.loc.Name, Tag: tag}
	at := &place{client: p.client, loc: l, ref: l.Display(), target: p.target}
	t.ref = at.ref
	var data []byte
	err = p.client.retry.Do(ctx, func() (err error) {
		t.desc, data, err = at.request(ctx)
		return err
	})
	var missing *NotFoundError
	if errors.As(err, &missing) && missing.Digest == "" && missing.Reason == "" {
		return t, false, nil
	}
	if err != nil {
		return t, false, classify(at.ref, err)
	}
	if t.doc, err = manifest.Decode(t.desc.MediaType, data); err != nil {
		return t, true, t.malformed(err)
	}
	t.desc.MediaType = t.doc.MediaType
	return t, true, nil
}
