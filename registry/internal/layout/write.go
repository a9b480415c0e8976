package layout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/scratch"
	"github.com/krmcat/krmcat/registry/internal/manifest"
	"github.com/krmcat/krmcat/registry/internal/problem"
	"github.com/krmcat/krmcat/registry/reference"
)

// lockFile prevents concurrent pushes into one layout from losing tags.
const lockFile = ".krmcat-lock"

// maxIndex is the maximum size of the index.json that is written, in bytes: it must be readable
// afterwards.
const maxIndex = 4 << 20

// Writer adds content to a layout, blobs first and index.json last, each by rename, so that the
// layout is valid at any time and after a kill.
type Writer struct{ layout Layout }

// Write returns a Writer of the layout in a directory, which ref names in errors.
func Write(dir, ref string) Writer { return Writer{Layout{Dir: dir, Ref: ref, Limit: maxIndex}} }

// Push adds packed content and moves the tags to its root. The layout is created if necessary.
// Errors: *reference.Error (the directory has other content), *problem.TooLargeError, and those of
// the file system.
func (w Writer) Push(ctx context.Context, p manifest.Packed, tags []string) error {
	if err := w.claim(); err != nil {
		return w.pushing(err)
	}
	return w.pushing(w.update(ctx, func(index *ocispec.Index) error { return w.add(ctx, index, p, tags) }))
}

// Attach adds content to a layout that has the subject, and moves the tags to its root. pack is
// called under the lock. A missing layout is not created: it would not have the subject.
func (w Writer) Attach(ctx context.Context, subject digest.Digest, tags []string, pack func() (manifest.Packed, error)) error {
	if _, err := w.layout.Index(); err != nil {
		return err
	}
	return w.pushing(w.update(ctx, func(index *ocispec.Index) error {
		if _, err := w.layout.byDigest(*index, subject); err != nil {
			return err
		}
		p, err := pack()
		if err != nil {
			return err
		}
		return w.add(ctx, index, p, tags)
	}))
}

// pushing adds the operation to an error.
func (w Writer) pushing(err error) error {
	if err == nil || problem.Placed(err) {
		return err
	}
	return fmt.Errorf("pushing to %s: %w", w.layout.Ref, err)
}

// add writes blobs and manifests, and sets the tags in the index.
func (w Writer) add(ctx context.Context, index *ocispec.Index, p manifest.Packed, tags []string) error {
	for _, b := range slices.Concat(p.Blobs, p.Manifests) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.blob(b); err != nil {
			return err
		}
	}
	setTags(index, p.Root, tags)
	return nil
}

// update changes the index of a layout under its lock. change must write the blobs that the index
// will list.
func (w Writer) update(ctx context.Context, change func(*ocispec.Index) error) error {
	path := filepath.Join(w.layout.Dir, lockFile)
	if _, err := ownfile.Free(path); err != nil { // the layout may come from a third party
		return err
	}
	unlock, err := scratch.Lock(ctx, path)
	if err != nil {
		return fmt.Errorf("waiting for the lock of the layout: %w", err)
	}
	defer unlock()
	scratch.SweepFiles(w.layout.Dir, 0) // earlier owners of the lock have ended
	index, err := w.prepare()
	if err != nil {
		return err
	}
	if err := change(&index); err != nil {
		return err
	}
	return w.writeIndex(index)
}

// claim creates the directory, and refuses one with other content.
func (w Writer) claim() error {
	if err := os.MkdirAll(w.layout.Dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(w.layout.Dir)
	if err != nil {
		return err
	}
	var stranger string
	for _, e := range entries {
		switch name := e.Name(); {
		case name == ocispec.ImageLayoutFile:
			return nil
		case name == ocispec.ImageIndexFile, name == ocispec.ImageBlobsDir, name == lockFile, strings.HasPrefix(name, scratch.TempPrefix):
		default:
			stranger = name
		}
	}
	if stranger != "" {
		return reference.Refuse(w.layout.Ref, fmt.Errorf("the directory contains %s and is not an OCI layout", reference.Clean(stranger)))
	}
	return nil
}

// prepare creates an empty layout if necessary, and returns the index.
func (w Writer) prepare() (ocispec.Index, error) {
	if err := w.inside(); err != nil {
		return ocispec.Index{}, err
	}
	if err := os.MkdirAll(filepath.Join(w.layout.Dir, ocispec.ImageBlobsDir, "sha256"), 0o755); err != nil {
		return ocispec.Index{}, err
	}
	_, err := os.Stat(filepath.Join(w.layout.Dir, ocispec.ImageIndexFile))
	if errors.Is(err, os.ErrNotExist) {
		err = w.writeIndex(ocispec.Index{
			Versioned: specs.Versioned{SchemaVersion: 2},
			MediaType: ocispec.MediaTypeImageIndex,
			Manifests: []ocispec.Descriptor{},
		})
	}
	if err != nil {
		return ocispec.Index{}, err
	}
	_, err = os.Stat(filepath.Join(w.layout.Dir, ocispec.ImageLayoutFile))
	if errors.Is(err, os.ErrNotExist) {
		err = w.writeJSON(ocispec.ImageLayoutFile, ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	}
	if err != nil {
		return ocispec.Index{}, err
	}
	return w.layout.Index()
}

// inside refuses directories of blobs that are links out of the layout: it may come from a third
// party, and nothing is written elsewhere.
func (w Writer) inside() error {
	root, err := filepath.EvalSymlinks(w.layout.Dir)
	if err != nil {
		return err
	}
	blobs := filepath.Join(w.layout.Dir, ocispec.ImageBlobsDir)
	for _, path := range []string{blobs, filepath.Join(blobs, "sha256")} {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			continue // it is created, or creating it is the error
		}
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			real, err = filepath.Rel(root, real)
		}
		if err != nil || !filepath.IsLocal(real) {
			return &ownfile.InTheWayError{Path: path, Mode: info.Mode()}
		}
	}
	return nil
}

// blob writes one blob unless it exists with the right content.
func (w Writer) blob(b manifest.Blob) error {
	path := w.layout.blobPath(b.Desc.Digest)
	if data, err := w.layout.Disk.Read(path, b.Desc.Size); err == nil && manifest.Sum(data) == b.Desc.Digest {
		return nil
	}
	return w.write(path, b.Data)
}

func (w Writer) writeIndex(index ocispec.Index) error {
	return w.writeJSON(ocispec.ImageIndexFile, index)
}

func (w Writer) writeJSON(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if int64(len(data)) > maxIndex {
		return &problem.TooLargeError{Ref: w.layout.Ref, What: name, Size: int64(len(data)), Limit: maxIndex}
	}
	return w.write(filepath.Join(w.layout.Dir, name), data)
}

func (w Writer) write(path string, data []byte) error {
	return scratch.File{Path: path, Mode: 0o644, In: w.layout.Dir}.Write(data)
}

// setTags moves the tags to root. Other entries keep their order.
func setTags(index *ocispec.Index, root ocispec.Descriptor, tags []string) {
	var moved []ocispec.Descriptor
	if len(tags) == 0 {
		if slices.ContainsFunc(index.Manifests, func(d ocispec.Descriptor) bool { return d.Digest == root.Digest }) {
			return
		}
		moved = append(moved, root)
	}
	for _, t := range tags {
		entry := root
		entry.Annotations = map[string]string{ocispec.AnnotationRefName: t}
		has := func(d ocispec.Descriptor) bool { return d.Annotations[ocispec.AnnotationRefName] == t }
		i := slices.IndexFunc(index.Manifests, has)
		if i < 0 {
			moved = append(moved, entry)
			continue
		}
		// Another tool may have written the tag twice.
		rest := slices.DeleteFunc(slices.Clone(index.Manifests[i+1:]), has)
		index.Manifests = append(append(index.Manifests[:i:i], entry), rest...)
	}
	index.Manifests = append(index.Manifests, moved...)
}
