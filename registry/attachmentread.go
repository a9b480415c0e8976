package registry

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/krmcat/krmcat/registry/reference"
)

// parallelReads is how many manifests, and how many files of each, are read at a time.
const parallelReads = 6

// attachmentReader answers one Query about one manifest.
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

// underTag reads the attachment under a tag, nil where there is none.
func (r attachmentReader) underTag(ctx context.Context, tag string) (*Attachment, error) {
	t, there, err := r.place.tagged(ctx, tag)
	if err != nil || !there {
		return nil, err
	}
	if t.doc.manifest == nil {
		return nil, t.malformed(errors.New("an index stands where an attachment is expected"))
	}
	return r.files(ctx, Attachment{Manifest: t.desc, Tag: tag}, t.doc.manifest)
}

// referrers reads the referrers that are asked for. An entry is nil where one turned out
// to be something else.
func (r attachmentReader) referrers(ctx context.Context) ([]*Attachment, error) {
	l, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	listed := l.found
	if r.place.loc.Scheme == reference.SchemeOCI && len(listed) > maxAttachments {
		return nil, r.flood("attachments", maxAttachments)
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

// referrer reads one listed manifest. Who lists it may err or lie about it: what it says
// itself counts.
func (r attachmentReader) referrer(ctx context.Context, d ocispec.Descriptor) (*Attachment, error) {
	data, err := r.place.get(ctx, d, "manifest", r.place.client.opts.Limits.Manifest)
	if isA[*NotFoundError](err) {
		return nil, errNotAttached // removed, and still listed
	}
	if err != nil {
		return nil, err
	}
	doc, err := decode(d.MediaType, data)
	if err != nil {
		if d.ArtifactType == "" {
			return nil, errNotAttached // a layout lists all sorts of things
		}
		return nil, &ManifestError{Ref: r.place.ref, Digest: d.Digest, Err: err}
	}
	m := doc.manifest
	if m == nil || m.Subject == nil || m.Subject.Digest != r.subject ||
		!r.query.wants(attachmentType(m)) || !r.query.allows(m.Annotations) {
		return nil, errNotAttached
	}
	d.MediaType = doc.mediaType
	return r.files(ctx, Attachment{Manifest: d}, m)
}

// attachmentType is what a manifest is, as the referrers API says it.
func attachmentType(m *ocispec.Manifest) string {
	if m.ArtifactType != "" {
		return m.ArtifactType
	}
	return m.Config.MediaType
}

// files completes an attachment with what its manifest says and lists.
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
		d.Data = nil // what stands in the manifest is not checked
		g.Go(func() (err error) {
			a.Files[i].Descriptor = d
			a.Files[i].Data, err = r.place.get(ctx, d, "attached file", maxAttachedFile)
			return err
		})
	}
	return &a, g.Wait()
}

func (r attachmentReader) flood(what string, limit int) error {
	return &TooManyError{Ref: r.place.ref, Digest: r.subject, What: what, Limit: limit}
}

// budget is what may still be read of all attachments of one manifest.
type budget struct {
	mu          sync.Mutex
	attachments int
	files       int
	bytes       int64
}

// take counts one attachment in, before anything of it is read.
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

// taggedDoc is what stands under a tag.
type taggedDoc struct {
	ref  string
	desc ocispec.Descriptor
	doc  document
}

func (t taggedDoc) malformed(err error) error {
	return &ManifestError{Ref: t.ref, Digest: t.desc.Digest, Err: err}
}

// tagged reads the manifest or index under another tag of the same place, and reports
// whether there is such a tag. A tag whose manifest is missing is an error.
func (p *place) tagged(ctx context.Context, tag string) (t taggedDoc, there bool, err error) {
	l := reference.Locator{Scheme: p.loc.Scheme, Name: p.loc.Name, Tag: tag}
	at := &place{client: p.client, loc: l, ref: l.Display(), target: p.target}
	t.ref = at.ref
	var data []byte
	err = p.client.retry.Do(ctx, func() (err error) {
		t.desc, data, err = at.ask(ctx)
		return err
	})
	var missing *NotFoundError
	if errors.As(err, &missing) && missing.Digest == "" && missing.Reason == "" {
		return t, false, nil
	}
	if err != nil {
		return t, false, classify(at.ref, err)
	}
	if t.doc, err = decode(t.desc.MediaType, data); err != nil {
		return t, true, t.malformed(err)
	}
	t.desc.MediaType = t.doc.mediaType
	return t, true, nil
}
