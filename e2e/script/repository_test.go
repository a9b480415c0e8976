package script

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// The parts of a repository that a program made: blobs/DIGEST, manifests/DIGEST, and tags/TAG,
// which also holds a manifest. If the tag existed before, its part holds only what was added to the
// lists of its manifest.
const (
	blobsPart     = "blobs/"
	manifestsPart = "manifests/"
	tagsPart      = "tags/"
)

// repo returns the repository that the last argument of a call names, "" if it names none.
func (c *call) repo() string {
	repo, _, ok := strings.Cut(strings.Join(c.args[max(0, len(c.args)-1):], ""), "@sha256:")
	if !ok {
		return ""
	}
	return repo
}

// repository is the content of a repository, by part.
type repository map[string][]byte

// readRepository reads what is reachable from the tags of a call's repository.
func readRepository(c *call) repository {
	found := repository{}
	if c.repo() == "" {
		return found
	}
	repo, err := name.NewRepository(c.repo())
	c.ts.Check(err)
	tags, err := remote.List(repo)
	c.ts.Check(err)
	for _, tag := range tags {
		data, err := found.read(repo.Tag(tag))
		c.ts.Check(err)
		found[tagsPart+tag] = data
	}
	return found
}

// lists are the fields of manifests and indexes that can be extended.
type lists struct {
	Config            *ocispec.Descriptor
	Layers, Manifests []ocispec.Descriptor
}

// read reads a manifest and everything below it.
func (r repository) read(ref name.Reference) ([]byte, error) {
	got, err := remote.Get(ref)
	if err != nil {
		return nil, err
	}
	r[manifestsPart+got.Digest.String()] = got.Manifest
	var m lists
	if err := json.Unmarshal(got.Manifest, &m); err != nil {
		return nil, err
	}
	for _, d := range m.Manifests {
		if _, err := r.read(ref.Context().Digest(d.Digest.String())); err != nil {
			return nil, err
		}
	}
	if m.Config != nil {
		m.Layers = append(m.Layers, *m.Config)
	}
	for _, d := range m.Layers {
		if r[blobsPart+d.Digest.String()] != nil {
			continue
		}
		layer, err := remote.Layer(ref.Context().Digest(d.Digest.String()))
		if err != nil {
			return nil, err
		}
		blob, err := layer.Compressed()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(blob)
		if err != nil {
			return nil, err
		}
		r[blobsPart+d.Digest.String()] = data
	}
	return got.Manifest, nil
}

// since returns the parts that did not exist before.
func (r repository) since(before repository) map[string][]byte {
	added := map[string][]byte{}
	for part, data := range r {
		was, there := before[part]
		switch {
		case there && string(was) == string(data):
		case there:
			added[part] = merge(data, was, func(now, then []any) []any {
				return slices.DeleteFunc(now, func(v any) bool { return contains(then, v) })
			})
		default:
			added[part] = data
		}
	}
	for part, data := range maps.Clone(added) {
		var m lists
		switch {
		case strings.HasPrefix(part, blobsPart):
		case strings.HasPrefix(part, manifestsPart) && r.tagged(data):
			delete(added, part) // the tag's part stores it
		case json.Unmarshal(data, &m) == nil:
			for _, d := range m.Layers { // also the blobs that the registry of another run may lack
				added[blobsPart+d.Digest.String()] = r[blobsPart+d.Digest.String()]
			}
		}
	}
	return added
}

// tagged reports whether a manifest has a tag.
func (r repository) tagged(manifest []byte) bool {
	for part, data := range r {
		if strings.HasPrefix(part, tagsPart) && string(data) == string(manifest) {
			return true
		}
	}
	return false
}

// merge combines the lists of two manifests by a function.
func merge(manifest, other []byte, change func(here, there []any) []any) []byte {
	var m, o map[string]any
	if json.Unmarshal(manifest, &m) != nil || json.Unmarshal(other, &o) != nil {
		return manifest
	}
	for _, field := range []string{"layers", "manifests"} {
		here, ok := m[field].([]any)
		there, _ := o[field].([]any)
		if ok {
			m[field] = change(here, there)
		}
	}
	out, err := json.Marshal(m)
	if err != nil {
		return manifest
	}
	return out
}

func contains(list []any, v any) bool {
	return slices.ContainsFunc(list, func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(v) })
}

// raw is a manifest with its original bytes.
type raw struct {
	data      []byte
	mediaType types.MediaType
}

func (m raw) RawManifest() ([]byte, error)        { return m.data, nil }
func (m raw) MediaType() (types.MediaType, error) { return m.mediaType, nil }

func newRaw(data []byte) raw {
	var of struct{ MediaType types.MediaType }
	_ = json.Unmarshal(data, &of)
	if of.MediaType == "" {
		of.MediaType = types.OCIManifestSchema1
	}
	return raw{data, of.MediaType}
}

// pushParts pushes parts into a repository; the names of the parts follow a prefix. It pushes blobs
// first, then manifests, then tags. It merges a tag with the manifest that already has it.
func pushParts(to, prefix string, parts map[string][]byte) error {
	repo, err := name.NewRepository(to)
	if err != nil {
		return err
	}
	for part, data := range parts {
		if strings.HasPrefix(part, prefix+blobsPart) {
			if err := remote.WriteLayer(repo, static.NewLayer(data, types.OCILayer)); err != nil {
				return err
			}
		}
	}
	for part, data := range parts {
		if digest, ok := strings.CutPrefix(part, prefix+manifestsPart); ok {
			if err := remote.Put(repo.Digest(digest), newRaw(data)); err != nil {
				return err
			}
		}
	}
	for part, data := range parts {
		tag, ok := strings.CutPrefix(part, prefix+tagsPart)
		if !ok {
			continue
		}
		if before, err := remote.Get(repo.Tag(tag)); err == nil {
			data = merge(before.Manifest, data, func(there, more []any) []any { return append(there, more...) })
		}
		if err := remote.Put(repo.Tag(tag), newRaw(data)); err != nil {
			return err
		}
	}
	return nil
}
