package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry/reference"
)

// Bundle is the content of one artifact to push.
type Bundle struct {
	Role        mediatypes.Role   // any but container
	Files       []File            // in order; the entry point of a script is the first
	Annotations map[string]string // of every manifest and the index
}

// File is one file of a Bundle.
type File struct {
	Title    string // one plain file name
	Platform string // exec only: "os/arch"; all files have one, or none
	Data     []byte
}

// packed is a bundle as blobs and manifests, children before parents.
type packed struct {
	root      ocispec.Descriptor
	blobs     []blob // layers and config
	manifests []blob // the root last
}

type blob struct {
	desc ocispec.Descriptor
	data []byte
}

// emptyConfig is the config of every artifact (OCI image spec, "Guidance for an Empty Descriptor").
func emptyConfig() blob {
	data := []byte("{}")
	return blob{describe(ocispec.MediaTypeEmptyJSON, data), data}
}

// pack converts a bundle to manifests. The result depends only on the bundle, so the same bundle
// has the same digest.
func pack(ref string, b Bundle) (packed, error) {
	files, err := checkBundle(ref, b)
	if err != nil {
		return packed{}, err
	}
	p := packed{blobs: []blob{emptyConfig()}}
	if files[0].Platform == "" {
		p.root, err = p.manifest(b, files)
		return p, err
	}
	index := ocispec.Index{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageIndex,
		ArtifactType: b.Role.Artifact(),
		Annotations:  maps.Clone(b.Annotations),
	}
	for _, f := range files {
		m, err := p.manifest(b, []File{f})
		if err != nil {
			return packed{}, err
		}
		m.Platform = ociPlatform(f.Platform)
		index.Manifests = append(index.Manifests, m)
	}
	p.root, err = p.add(index.MediaType, index)
	p.root.ArtifactType = index.ArtifactType
	return p, err
}

func (p *packed) manifest(b Bundle, files []File) (ocispec.Descriptor, error) {
	m := ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: b.Role.Artifact(),
		Config:       p.blobs[0].desc,
		Annotations:  maps.Clone(b.Annotations),
	}
	for _, f := range files {
		layer := describe(b.Role.Layer(), f.Data)
		p.blobs = append(p.blobs, blob{layer, f.Data})
		m.Layers = append(m.Layers, titled(layer, f.Title))
	}
	d, err := p.add(m.MediaType, m)
	d.ArtifactType = m.ArtifactType
	return d, err
}

func (p *packed) add(mediaType string, v any) (ocispec.Descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("packing a manifest: %w", err)
	}
	d := describe(mediaType, data)
	same := func(b blob) bool { return b.desc.Digest == d.Digest }
	if !slices.ContainsFunc(p.manifests, same) {
		p.manifests = append(p.manifests, blob{d, data})
	}
	return d, nil
}

// checkBundle returns the files to pack, sorted by platform if they have one.
func checkBundle(ref string, b Bundle) ([]File, error) {
	if b.Role.Layer() == "" {
		return nil, fmt.Errorf("packing %s: krmcat does not pack %q", ref, b.Role)
	}
	if len(b.Files) == 0 {
		return nil, fmt.Errorf("packing %s: there are no files", ref)
	}
	files := slices.Clone(b.Files)
	platforms := files[0].Platform != ""
	seen := map[string]bool{}
	for i := range files {
		f := &files[i]
		if b.Role == mediatypes.RoleExec {
			f.Title = path.Base(strings.ReplaceAll(f.Title, `\`, "/"))
		}
		if reason := checkTitle(f.Title); reason != "" {
			return nil, &TitleError{Ref: ref, Title: f.Title, Reason: reason}
		}
		if platforms != (f.Platform != "") {
			return nil, fmt.Errorf("packing %s: either every file has a platform or none", ref)
		}
		key := strings.ToLower(f.Title)
		if platforms {
			key = f.Platform
		}
		if seen[key] {
			return nil, fmt.Errorf("packing %s: two files for %s", ref, key)
		}
		seen[key] = true
	}
	if !platforms {
		return files, nil
	}
	if err := checkPlatforms(ref, b.Role, files); err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Platform, b.Platform) })
	return files, nil
}

func checkPlatforms(ref string, r mediatypes.Role, files []File) error {
	if r != mediatypes.RoleExec {
		return fmt.Errorf("packing %s: files of a %s must not have a platform", ref, r)
	}
	for _, f := range files {
		if ociPlatform(f.Platform) == nil {
			return fmt.Errorf("packing %s: platform %q is not os/arch", ref, f.Platform)
		}
	}
	return nil
}

// ociPlatform parses os/arch or os/arch/variant. It returns nil for anything else.
func ociPlatform(s string) *ocispec.Platform {
	parts := strings.Split(s, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return nil
	}
	for _, p := range parts {
		if p == "" || strings.Trim(p, "abcdefghijklmnopqrstuvwxyz0123456789_.-") != "" {
			return nil
		}
	}
	p := &ocispec.Platform{OS: parts[0], Architecture: parts[1]}
	if len(parts) == 3 {
		p.Variant = parts[2]
	}
	return p
}

// artifact returns what Resolve would return for a packed bundle, without its content.
func (p packed) artifact(l reference.Locator, r mediatypes.Role) (Artifact, error) {
	a := Artifact{From: l, Root: p.root, Role: r}
	last := p.manifests[len(p.manifests)-1]
	doc, err := decode(last.desc.MediaType, last.data)
	if err != nil {
		return a, err
	}
	if doc.manifest != nil {
		a.Manifest, a.Annotations, a.Files = p.root, doc.manifest.Annotations, doc.manifest.Layers
		return a, nil
	}
	for _, m := range doc.index.Manifests {
		a.Platforms = append(a.Platforms, platformName(*m.Platform))
	}
	a.Annotations = doc.index.Annotations
	return a, nil
}
