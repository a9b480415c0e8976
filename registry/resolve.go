package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry/internal/layout"
	"github.com/krmcat/krmcat/registry/internal/manifest"
	"github.com/krmcat/krmcat/registry/internal/store"
	"github.com/krmcat/krmcat/registry/reference"
)

// Resolve resolves a reference to a digest. No other function interprets tags. If the reference is
// pinned, its digest decides and its tag is ignored: pinned content in the cache needs no network.
// A missing tag means "latest".
//
// In an index, the manifest of w.Platform is chosen. The content must have w.Role, with two
// exceptions: a definition is accepted for a catalog and the reverse, and a program may have the
// media types of a script (the mistake in KEP-2906). A file from https or from disk has no role of
// its own and gets the wanted one.
//
// Errors: *reference.Error, *BlobError, *NotFoundError, *UnreachableError, *DigestError,
// *TooLargeError, *ManifestError, *PlatformError, *RoleError, *ownfile.BeyondError, or the
// context's.
func (c *Client) Resolve(ctx context.Context, l reference.Locator, w Want) (Artifact, error) {
	p, err := c.open(ctx, l, w)
	if err != nil {
		return Artifact{}, classify(l.Display(), err)
	}
	root, data, err := p.root(ctx)
	if err != nil {
		return Artifact{}, p.withTags(ctx, classify(l.Display(), err))
	}
	a := Artifact{From: l, Root: root, store: p}
	if data == nil {
		a.Role, a.Files = w.Role, []ocispec.Descriptor{root}
		return a, nil
	}
	if w.Root {
		return a, p.fillRoot(&a, w, data)
	}
	err = p.descend(ctx, &a, w, data)
	return a, err
}

// fillRoot fills in a from the root's bytes, and does not choose a manifest of an index.
func (p *place) fillRoot(a *Artifact, w Want, data []byte) error {
	doc, err := manifest.Decode(a.Root.MediaType, data)
	if err != nil {
		return &ManifestError{Ref: p.ref, Digest: a.Root.Digest, Err: err}
	}
	a.Root.MediaType, a.Role = doc.MediaType, w.Role
	if doc.Index != nil {
		a.Platforms, a.Annotations = []string{}, doc.Index.Annotations
		for _, m := range doc.Index.Manifests {
			if m.Platform != nil {
				a.Platforms = append(a.Platforms, reference.Clean(platformName(*m.Platform)))
			}
		}
		if role, known := mediatypes.RoleOfType(doc.Index.ArtifactType); known {
			a.Role = role
		}
		return nil
	}
	a.Manifest = a.Root
	if _, known := mediatypes.RoleOf(*doc.Manifest); !known && w.Role == mediatypes.RoleUnknown {
		a.Annotations, a.Files = doc.Manifest.Annotations, doc.Manifest.Layers
		return nil
	}
	return p.fill(a, w, doc.Manifest)
}

func (c *Client) open(ctx context.Context, l reference.Locator, w Want) (*place, error) {
	p := &place{client: c, loc: l, ref: l.Display(), blob: c.opts.Limits.of(w.Role)}
	if l.Local() {
		// The path that is opened must be the one that is compared: link/.. may lead elsewhere.
		l.Name = l.Normal().Name
		p.loc = l
	}
	if of, blob := BlobOf(l); blob {
		return nil, &BlobError{Ref: p.ref, Of: of}
	}
	var err error
	switch l.Scheme {
	case reference.SchemeOCI:
		p.target, err = c.repository(ctx, l)
	case reference.SchemeLayout:
		p.target = &layout.Layout{Disk: store.Disk{Below: w.Below}, Dir: l.Name, Ref: p.ref, Limit: c.opts.Limits.Manifest}
	case reference.SchemeHTTPS:
		f := &webFile{from: c.servers, agent: c.opts.UserAgent, url: l.Name, ref: p.ref, role: w.Role, limit: p.blob}
		if l.Digest != "" {
			f.data, f.have = c.cache.Get(l.Digest, p.blob)
		}
		p.target = f
	case reference.SchemeFile:
		p.target = &store.File{Disk: store.Disk{Below: w.Below}, Path: l.Name, Ref: p.ref, Type: blobType(w.Role), Limit: p.blob}
	default:
		s, ok := c.sources[l.Scheme]
		if !ok {
			return nil, &reference.Error{Ref: p.ref, Err: fmt.Errorf("unknown scheme %q", l.Scheme)}
		}
		p.target, err = s.Open(ctx, l)
	}
	return p, err
}

// root resolves the place to a descriptor, and returns the manifest or index that it describes. The
// data is nil for a single file.
func (p *place) root(ctx context.Context) (ocispec.Descriptor, []byte, error) {
	pin := p.loc.Digest
	if pin != "" && p.loc.Scheme == reference.SchemeOCI {
		if desc, data, ok := p.cachedRoot(pin); ok {
			return desc, data, nil
		}
	}
	var desc ocispec.Descriptor
	var data []byte
	err := p.client.retry.Do(ctx, func() (err error) {
		desc, data, err = p.request(ctx)
		return err
	})
	if err == nil && pin != "" && desc.Digest != pin {
		return desc, nil, &DigestError{Ref: p.ref, Want: pin, Got: desc.Digest}
	}
	if err == nil && data != nil {
		p.keep(desc.Digest, data)
	}
	return desc, data, err
}

// cachedRoot returns a pinned manifest or index from the cache.
func (p *place) cachedRoot(pin digest.Digest) (ocispec.Descriptor, []byte, bool) {
	data, ok := p.client.cache.Get(pin, p.client.opts.Limits.Manifest)
	if !ok {
		return ocispec.Descriptor{}, nil, false
	}
	doc, err := manifest.Decode("", data)
	if err != nil {
		return ocispec.Descriptor{}, nil, false
	}
	return manifest.Describe(doc.MediaType, data), data, true
}

// referenceFetcher is a target that resolves and fetches in one request, such as a registry.
type referenceFetcher interface {
	FetchReference(ctx context.Context, reference string) (ocispec.Descriptor, io.ReadCloser, error)
}

// request resolves the reference at the place itself.
func (p *place) request(ctx context.Context) (ocispec.Descriptor, []byte, error) {
	ref := p.loc.Digest.String()
	if ref == "" {
		ref = p.loc.Tag
	}
	if rf, ok := p.target.(referenceFetcher); ok {
		if ref == "" {
			ref = reference.DefaultTag
		}
		desc, rc, err := rf.FetchReference(ctx, ref)
		if err != nil {
			return desc, nil, p.refuse(err)
		}
		defer rc.Close()
		return p.readManifest(desc, rc)
	}
	desc, err := p.target.Resolve(ctx, ref)
	known := manifest.IsManifest(desc.MediaType) || manifest.IsIndex(desc.MediaType)
	switch {
	case err != nil:
		return desc, nil, err
	case !known && p.loc.Scheme == reference.SchemeLayout:
		return desc, nil, &ManifestError{Ref: p.ref, Digest: desc.Digest, Err: fmt.Errorf("its type is %q", reference.Clean(desc.MediaType))}
	case !known:
		return desc, nil, nil
	}
	if err := p.checkSize(desc, "manifest", p.client.opts.Limits.Manifest); err != nil {
		return desc, nil, err
	}
	data, err := p.fetchOnce(ctx, desc)
	return desc, data, err
}

// refuse converts an error of a request for the reference.
func (p *place) refuse(err error) error {
	if p.loc.Digest != "" {
		return classifyDigest(p.ref, p.loc.Digest, err)
	}
	return classify(p.ref, err)
}

func (p *place) readManifest(desc ocispec.Descriptor, rc io.Reader) (ocispec.Descriptor, []byte, error) {
	if err := p.checkSize(desc, "manifest", p.client.opts.Limits.Manifest); err != nil {
		return desc, nil, err
	}
	data, err := p.readBody(rc, desc)
	return desc, data, err
}

// maxNesting is the maximum number of indexes above a manifest.
const maxNesting = 3

// descend fills in a from the root's bytes and follows indexes down to one manifest.
func (p *place) descend(ctx context.Context, a *Artifact, w Want, data []byte) error {
	desc := a.Root
	for range maxNesting {
		doc, err := manifest.Decode(desc.MediaType, data)
		if err != nil {
			return &ManifestError{Ref: p.ref, Digest: desc.Digest, Err: err}
		}
		desc.MediaType = doc.MediaType
		if desc.Digest == a.Root.Digest {
			a.Root = desc
		}
		if doc.Manifest != nil {
			a.Manifest = desc
			return p.fill(a, w, doc.Manifest)
		}
		next, err := p.choose(a, w, doc.Index)
		if err != nil {
			return err
		}
		if data, err = p.get(ctx, next, "manifest", p.client.opts.Limits.Manifest); err != nil {
			return err
		}
		desc = next
	}
	return &ManifestError{Ref: p.ref, Digest: a.Root.Digest, Err: errors.New("indexes are nested too deep")}
}

// choose returns the first manifest for the wanted platform. The only manifest of an index is
// returned if it has no platform.
func (p *place) choose(a *Artifact, w Want, index *ocispec.Index) (ocispec.Descriptor, error) {
	want := w.Platform
	if want == "" {
		want = runtime.GOOS + "/" + runtime.GOARCH
	}
	if len(index.Manifests) == 1 && index.Manifests[0].Platform == nil {
		return index.Manifests[0], nil
	}
	chosen, silent := -1, 0
	a.Platforms = []string{}
	for i, m := range index.Manifests {
		if m.Platform == nil {
			silent++
		}
		if m.Platform == nil || m.Platform.OS == "unknown" {
			continue
		}
		a.Platforms = append(a.Platforms, reference.Clean(platformName(*m.Platform)))
		if chosen < 0 && fitsPlatform(*m.Platform, want) {
			chosen = i
		}
	}
	if chosen < 0 {
		return ocispec.Descriptor{}, &PlatformError{Ref: p.ref, Digest: a.Root.Digest, Want: want, Have: a.Platforms, Silent: silent}
	}
	return index.Manifests[chosen], nil
}

func platformName(p ocispec.Platform) string {
	s := p.OS + "/" + p.Architecture
	if p.Variant != "" {
		s += "/" + p.Variant
	}
	return s
}

// fitsPlatform compares os/arch, and the variant if want has one.
func fitsPlatform(p ocispec.Platform, want string) bool {
	if strings.Count(want, "/") < 2 {
		p.Variant = ""
	}
	return platformName(p) == want
}

// fill fills in a from a manifest, after checking its role.
func (p *place) fill(a *Artifact, w Want, m *ocispec.Manifest) error {
	role, known := mediatypes.RoleOf(*m)
	if !known || !acceptable(w.Role, role) {
		return &RoleError{Ref: p.ref, Digest: a.Root.Digest, Want: w.Role, Got: role, Type: typeOf(m)}
	}
	if w.Role == mediatypes.RoleExec {
		role = mediatypes.RoleExec
	}
	a.Role, a.Annotations, a.Files = role, m.Annotations, m.Layers
	if role == mediatypes.RoleContainer {
		a.Config = m.Config
	}
	p.blob = p.client.opts.Limits.of(role) // without a wanted role, it is only known now
	return nil
}

func acceptable(want, got mediatypes.Role) bool {
	switch want {
	case mediatypes.RoleUnknown:
		return true
	case mediatypes.RoleCatalog, mediatypes.RoleDefinition:
		return got == mediatypes.RoleCatalog || got == mediatypes.RoleDefinition
	case mediatypes.RoleExec:
		return got == mediatypes.RoleExec || got == mediatypes.RoleStarlark
	case mediatypes.RoleStarlark, mediatypes.RoleContainer:
	}
	return got == want
}

// typeOf returns the type of a manifest for an error message.
func typeOf(m *ocispec.Manifest) string {
	switch {
	case m.ArtifactType != "" && !mediatypes.NoArtifactType(m.ArtifactType):
		return reference.Clean(m.ArtifactType)
	case len(m.Layers) > 0:
		return reference.Clean(m.Layers[0].MediaType)
	}
	return reference.Clean(m.Config.MediaType)
}
