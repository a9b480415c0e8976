package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/scratch"
	"github.com/krmcat/krmcat/registry/reference"
)

// lockFile prevents concurrent pushes into one layout from losing tags.
const lockFile = ".krmcat-lock"

// pushLayout writes blobs first and index.json last, each by rename, so that the layout is valid at
// any time and after a kill.
func pushLayout(ctx context.Context, l reference.Locator, p packed, tags []string) error {
	w := layoutWriter{layout{dir: l.Normal().Name, ref: l.Display(), limit: maxLayoutIndex}}
	return w.pushing(w.push(ctx, p, tags))
}

// maxLayoutIndex is the maximum size of the index.json that is written, in bytes: it must be
// readable afterwards.
const maxLayoutIndex = 4 << 20

type layoutWriter struct{ layout }

// pushing adds the operation to an error.
func (w *layoutWriter) pushing(err error) error {
	if err == nil || hasOwnType(err) {
		return err
	}
	return fmt.Errorf("pushing to %s: %w", w.ref, err)
}

func (w *layoutWriter) push(ctx context.Context, p packed, tags []string) error {
	if err := w.claim(); err != nil {
		return err
	}
	return w.update(ctx, func(index *ocispec.Index) error {
		if err := w.blobs(ctx, p); err != nil {
			return err
		}
		setTags(index, p.root, tags)
		return nil
	})
}

// update changes the index of a layout under its lock. change must write the blobs that the index
// will list.
func (w *layoutWriter) update(ctx context.Context, change func(*ocispec.Index) error) error {
	path := filepath.Join(w.dir, lockFile)
	if _, err := ownfile.Free(path); err != nil { // the layout may come from a third party
		return err
	}
	unlock, err := scratch.Lock(ctx, path)
	if err != nil {
		return fmt.Errorf("waiting for the lock of the layout: %w", err)
	}
	defer unlock()
	scratch.SweepFiles(w.dir, 0) // earlier owners of the lock have ended
	index, err := w.prepare()
	if err != nil {
		return err
	}
	if err := change(&index); err != nil {
		return err
	}
	return w.writeIndex(index)
}

func (w *layoutWriter) blobs(ctx context.Context, p packed) error {
	for _, b := range append(slices.Clone(p.blobs), p.manifests...) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.blob(b); err != nil {
			return err
		}
	}
	return nil
}

// claim creates the directory, and refuses one with other content.
func (w *layoutWriter) claim() error {
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(w.dir)
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
		return reference.Refuse(w.ref, fmt.Errorf("the directory contains %s and is not an OCI layout", reference.Clean(stranger)))
	}
	return nil
}

// prepare creates an empty layout if necessary, and returns the index.
func (w *layoutWriter) prepare() (ocispec.Index, error) {
	if err := os.MkdirAll(filepath.Join(w.dir, ocispec.ImageBlobsDir, "sha256"), 0o755); err != nil {
		return ocispec.Index{}, err
	}
	_, err := os.Stat(filepath.Join(w.dir, ocispec.ImageIndexFile))
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
	_, err = os.Stat(filepath.Join(w.dir, ocispec.ImageLayoutFile))
	if errors.Is(err, os.ErrNotExist) {
		err = w.writeJSON(ocispec.ImageLayoutFile, ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	}
	if err != nil {
		return ocispec.Index{}, err
	}
	return w.index()
}

// blob writes one blob unless it exists with the right content.
func (w *layoutWriter) blob(b blob) error {
	path := w.blobPath(b.desc.Digest)
	if data, err := w.disk.Read(path, b.desc.Size); err == nil && sum(data) == b.desc.Digest {
		return nil
	}
	return w.write(path, b.data)
}

func (w *layoutWriter) writeIndex(index ocispec.Index) error {
	return w.writeJSON(ocispec.ImageIndexFile, index)
}

func (w *layoutWriter) writeJSON(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if int64(len(data)) > maxLayoutIndex {
		return &TooLargeError{Ref: w.ref, What: name, Size: int64(len(data)), Limit: maxLayoutIndex}
	}
	return w.write(filepath.Join(w.dir, name), data)
}

func (w *layoutWriter) write(path string, data []byte) error {
	return scratch.File{Path: path, Mode: 0o644, In: w.dir}.Write(data)
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
