package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry/internal/layout"
	"github.com/krmcat/krmcat/registry/internal/manifest"
	"github.com/krmcat/krmcat/registry/reference"
)

// Attach adds an attachment to a manifest that is in the registry or layout of l; the tag and
// digest of l do not matter. It returns the manifest of the attachment.
//
// Without a.Tag the attachment is a referrer of subject, whose media type, digest and size are
// needed. In a registry without the referrers API, it is added to the index under the fallback tag.
// With a.Tag, its files are added to those of the manifest under that tag, as cosign stores
// signatures; the manifest is created if necessary. A file that exists with the same annotations is
// not added again. Of a.Files, media type, annotations and data are used. The same attachment has
// the same digest.
//
// A layout is locked. Registries have no locks: if two clients change a tag, or the index under a
// fallback tag, at the same time, one may overwrite the other. Attach reads again after writing, at
// most 100 ms later, and repeats the write if its attachment is missing, according to
// Options.Retry. If it saw other writers, it reads a second time. It cannot detect a client that
// read before and writes after its last check. To avoid this, sign one after the other, or use a
// registry with the referrers API.
//
// It refuses what Attachments would refuse: *TooManyError, *TooLargeError. Other errors: those of
// Push; *ManifestError if there is an index under the tag; *ConflictError if others overwrote every
// attempt.
func (c *Client) Attach(ctx context.Context, l reference.Locator, subject ocispec.Descriptor, a Attachment) (ocispec.Descriptor, error) {
	w, err := c.attacher(ctx, l, subject, a)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if l.Scheme == reference.SchemeLayout {
		return w.toLayout(ctx)
	}
	return w.toRegistry(ctx)
}

// attacher adds one attachment at one place.
type attacher struct {
	place   *place
	subject ocispec.Descriptor
	a       Attachment

	// The state when the attachment was last packed.
	joined digest.Digest // manifest under the attachment's tag, "" for none
	listed listing       // referrers of the subject
}

func (c *Client) attacher(ctx context.Context, l reference.Locator, subject ocispec.Descriptor, a Attachment) (*attacher, error) {
	ref := l.Display()
	typed := manifest.IsManifest(subject.MediaType) || manifest.IsIndex(subject.MediaType)
	switch {
	case l.Scheme != reference.SchemeOCI && l.Scheme != reference.SchemeLayout:
		return nil, &reference.Error{Ref: ref, Err: errors.New("krmcat cannot attach anything there: use oci:// or oci-layout://")}
	case !isSHA256(subject.Digest):
		return nil, fmt.Errorf("attaching to %s: %q is not a sha256 digest", ref, reference.Clean(subject.Digest.String()))
	case a.Tag != "" && !reference.IsTag(a.Tag):
		return nil, &reference.Error{Ref: ref, Err: fmt.Errorf("%q is not a tag", reference.Clean(a.Tag))}
	case len(a.Files) == 0:
		return nil, fmt.Errorf("attaching to %s: there are no files", ref)
	case a.Tag == "" && (a.ArtifactType == "" || subject.Size <= 0 || !typed):
		return nil, fmt.Errorf("attaching to %s: a referrer needs an artifact type, and the media type and size of its subject", ref)
	}
	p, err := c.open(ctx, reference.Locator{Scheme: l.Scheme, Name: l.Name, Digest: subject.Digest}, Want{})
	if err != nil {
		return nil, classify(ref, err)
	}
	return &attacher{place: p, subject: subject, a: a}, nil
}

// toLayout changes a layout under its lock, which also covers reading it.
func (w *attacher) toLayout(ctx context.Context) (ocispec.Descriptor, error) {
	var p manifest.Packed
	err := layout.Write(w.place.loc.Name, w.place.ref).Attach(ctx, w.subject.Digest, w.tags(), func() (_ manifest.Packed, err error) {
		p, err = w.pack(ctx)
		return p, err
	})
	return p.Root, err
}

func (w *attacher) tags() []string {
	if w.a.Tag == "" {
		return nil
	}
	return []string{w.a.Tag}
}

// pack creates the manifest and its blobs, and checks that Attachments would accept them.
func (w *attacher) pack(ctx context.Context) (manifest.Packed, error) {
	var p manifest.Packed
	m := ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: w.a.ArtifactType,
		Annotations:  maps.Clone(w.a.Annotations),
	}
	for _, f := range w.a.Files {
		layer := layerOf(f)
		p.Blobs = append(p.Blobs, manifest.Blob{Desc: layer, Data: f.Data})
		m.Layers = append(m.Layers, layer)
	}
	config, err := w.complete(ctx, &m)
	if err != nil {
		return manifest.Packed{}, err
	}
	m.Config = config.Desc
	p.Blobs = append(p.Blobs, config)
	if p.Root, err = p.Add(m.MediaType, m); err != nil {
		return manifest.Packed{}, err
	}
	p.Root.ArtifactType = m.ArtifactType
	return p, w.check(ctx, p.Root, m.Layers)
}

func layerOf(f AttachedFile) ocispec.Descriptor {
	layer := manifest.Describe(f.MediaType, f.Data)
	if layer.MediaType == "" {
		layer.MediaType = blobType("")
	}
	layer.Annotations = maps.Clone(f.Annotations)
	return layer
}

// complete adds the subject to a manifest, or joins it with the one under the tag, and returns its
// config.
func (w *attacher) complete(ctx context.Context, m *ocispec.Manifest) (manifest.Blob, error) {
	if w.a.Tag != "" {
		return w.join(ctx, m)
	}
	m.Subject = &ocispec.Descriptor{MediaType: w.subject.MediaType, Digest: w.subject.Digest, Size: w.subject.Size}
	return emptyConfig(), nil
}

// join inserts the layers of the manifest under the tag before m's layers, and returns an image
// config, because cosign reads attachments under tags as images.
func (w *attacher) join(ctx context.Context, m *ocispec.Manifest) (manifest.Blob, error) {
	t, there, err := w.place.tagged(ctx, w.a.Tag)
	if err != nil {
		return manifest.Blob{}, err
	}
	if there && t.doc.Manifest == nil {
		return manifest.Blob{}, t.malformed(errors.New("expected an attachment, found an index"))
	}
	w.joined = ""
	if there {
		w.joined = t.desc.Digest
		added := m.Layers
		m.Layers = t.doc.Manifest.Layers
		for _, layer := range added {
			if !holds(m.Layers, layer) {
				m.Layers = append(m.Layers, layer)
			}
		}
		annotations := maps.Clone(t.doc.Manifest.Annotations)
		if annotations == nil {
			annotations = map[string]string{}
		}
		maps.Copy(annotations, m.Annotations)
		m.Annotations = annotations
		if m.ArtifactType == "" {
			m.ArtifactType = t.doc.Manifest.ArtifactType
		}
		m.Subject = t.doc.Manifest.Subject
	}
	image := ocispec.Image{RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{}}}
	for _, d := range m.Layers {
		image.RootFS.DiffIDs = append(image.RootFS.DiffIDs, d.Digest)
	}
	data, err := json.Marshal(image)
	return manifest.Blob{Desc: manifest.Describe(ocispec.MediaTypeImageConfig, data), Data: data}, err
}

func holds(layers []ocispec.Descriptor, layer ocispec.Descriptor) bool {
	return slices.ContainsFunc(layers, func(d ocispec.Descriptor) bool {
		return d.Digest == layer.Digest && d.MediaType == layer.MediaType && maps.Equal(d.Annotations, layer.Annotations)
	})
}

// reader reads the referrers with the attachment's type.
func (w *attacher) reader() attachmentReader {
	return attachmentReader{place: w.place, subject: w.subject.Digest, query: Query{ArtifactTypes: []string{w.a.ArtifactType}}}
}

// check refuses what Attachments would refuse.
func (w *attacher) check(ctx context.Context, root ocispec.Descriptor, layers []ocispec.Descriptor) error {
	ref, limit := w.place.ref, w.place.client.opts.Limits.Manifest
	if root.Size > limit {
		return &TooLargeError{Ref: ref, What: "manifest", Size: root.Size, Limit: limit}
	}
	if err := (&budget{}).take(ref, layers); err != nil || w.a.Tag != "" {
		return err
	}
	var err error
	if w.listed, err = w.reader().list(ctx); err != nil {
		return err
	}
	others := 0
	for _, d := range w.listed.found {
		if d.ArtifactType == w.a.ArtifactType && d.Digest != root.Digest {
			others++
		}
	}
	if others >= maxAttachments {
		return w.reader().tooMany("attachments", maxAttachments)
	}
	return nil
}
