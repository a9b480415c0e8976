package registry

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry/internal/manifest"
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

// emptyConfig is the config of every artifact (OCI image spec, "Guidance for an Empty Descriptor").
func emptyConfig() manifest.Blob {
	data := []byte("{}")
	return manifest.Blob{Desc: manifest.Describe(ocispec.MediaTypeEmptyJSON, data), Data: data}
}

// pack converts a bundle to manifests. The result depends only on the bundle, so the same bundle
// has the same digest.
func pack(ref string, b Bundle) (manifest.Packed, error) {
	files, err := checkBundle(ref, b)
	if err != nil {
		return manifest.Packed{}, err
	}
	p := manifest.Packed{Blobs: []manifest.Blob{emptyConfig()}}
	if files[0].Platform == "" {
		p.Root, err = addManifest(&p, b, files)
		return p, err
	}
	index := ocispec.Index{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageIndex,
		ArtifactType: b.Role.Artifact(),
		Annotations:  maps.Clone(b.Annotations),
	}
	for _, f := range files {
		m, err := addManifest(&p, b, []File{f})
		if err != nil {
			return manifest.Packed{}, err
		}
		m.Platform = ociPlatform(f.Platform)
		index.Manifests = append(index.Manifests, m)
	}
	p.Root, err = p.Add(index.MediaType, index)
	p.Root.ArtifactType = index.ArtifactType
	return p, err
}

func addManifest(p *manifest.Packed, b Bundle, files []File) (ocispec.Descriptor, error) {
	m := ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: b.Role.Artifact(),
		Config:       p.Blobs[0].Desc,
		Annotations:  maps.Clone(b.Annotations),
	}
	for _, f := range files {
		layer := manifest.Describe(b.Role.Layer(), f.Data)
		p.Blobs = append(p.Blobs, manifest.Blob{Desc: layer, Data: f.Data})
		m.Layers = append(m.Layers, titled(layer, f.Title))
	}
	d, err := p.Add(m.MediaType, m)
	d.ArtifactType = m.ArtifactType
	return d, err
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
func artifactOf(p manifest.Packed, l reference.Locator, r mediatypes.Role) (Artifact, error) {
	a := Artifact{From: l, Root: p.Root, Role: r}
	last := p.Manifests[len(p.Manifests)-1]
	doc, err := manifest.Decode(last.Desc.MediaType, last.Data)
	if err != nil {
		return a, err
	}
	if doc.Manifest != nil {
		a.Manifest, a.Annotations, a.Files = p.Root, doc.Manifest.Annotations, doc.Manifest.Layers
		return a, nil
	}
	for _, m := range doc.Index.Manifests {
		a.Platforms = append(a.Platforms, platformName(*m.Platform))
	}
	a.Annotations = doc.Index.Annotations
	return a, nil
}
