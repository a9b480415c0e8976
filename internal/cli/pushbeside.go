package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

// beside collects what push --pin publishes beside a catalog: the local programs and scripts that
// it names. They go to the repository of the catalog, with the same readers. Nothing is pushed
// before everything was read, and the catalog is pushed last.
type beside struct {
	dir     string            // files must be in or below it
	to      reference.Locator // the repository
	written reference.Locator // how the catalog names it
	pack    func(reference.Locator, registry.Bundle) (registry.Artifact, error)
	data    map[string][]byte // content by absolute path: what was checked is what is pushed
	list    []companion       // in the order of the catalog
}

// companion is an artifact that is published beside the catalog.
type companion struct {
	tag    string
	bundle registry.Bundle
	pinned reference.Locator // how the catalog names it
	paths  []string          // its files, relative to the catalog
}

// newBeside returns a beside for a catalog that was read from a directory.
func (e *env) newBeside(dir string, d destination) *beside {
	to := reference.Locator{Scheme: d.to.Scheme, Name: d.to.Name}
	written := to
	if to.Scheme == reference.SchemeLayout { // paths are relative to the catalog
		written.Name = filepath.Base(e.abs(to.Name))
	}
	return &beside{dir: dir, to: to, written: written, pack: d.client.Pack, data: map[string][]byte{}}
}

// read reads a file that a catalog names, once, and checks it for each runtime and each platform
// that names it. Errors: *ownfile.BeyondError, *notThereError, *registry.TooLargeError, and those
// of scripts that do not compile.
func (b *beside) read(n fnexec.Needs, name string) error {
	limit := int64(maxProgram)
	if n.Want.Role == mediatypes.RoleStarlark {
		limit = maxText
	}
	data, done := b.data[n.From.Name]
	if !done {
		var err error
		if data, err = b.load(n.From.Name, name, limit); err != nil {
			return err
		}
	}
	if int64(len(data)) > limit { // it was read for a runtime with a higher limit
		return &registry.TooLargeError{Ref: name, What: "file", Limit: limit}
	}
	if n.Want.Role == mediatypes.RoleStarlark {
		if err := checkScripts([]registry.File{{Title: filepath.Base(n.From.Name), Data: data}}); err != nil {
			return err
		}
	}
	if why := noProgram(n.From.Name, n.Want.Platform, data); n.Want.Role == mediatypes.RoleExec && why != "" {
		return fmt.Errorf("%s: %s", name, why)
	}
	b.data[n.From.Name] = data
	return nil
}

// load reads a file. It must be in or below the catalog's directory, so that the author of a
// catalog cannot have other files of this machine published.
func (b *beside) load(path, name string, limit int64) ([]byte, error) {
	f, err := ownfile.OpenBelow(b.dir, path)
	var beyond *ownfile.BeyondError
	if errors.As(err, &beyond) {
		return nil, &ownfile.BeyondError{Path: name, Dir: beyond.Dir}
	}
	if err != nil {
		return nil, &notThereError{path: name, err: err}
	}
	defer func() { _ = f.Close() }() // only read from
	return readUpTo(f, name, limit)
}

// one is a file of a runtime, and its artifact.
type one struct {
	path string // absolute
	file registry.File
	in   reference.Locator // pinned
}

// resolver adds the local files that a runtime names, and resolves them to their artifacts.
func (b *beside) resolver(known fnexec.Runtime, rt catalog.Runtime, at catalog.FunctionID, next fnexec.ResolveFunc) (fnexec.ResolveFunc, error) {
	files, role, err := b.files(known, rt)
	if err != nil {
		return nil, err
	}
	if err := b.take(files, role, at); err != nil {
		return nil, err
	}
	return func(ctx context.Context, l reference.Locator, w registry.Want) (registry.Artifact, error) {
		if l.Scheme != reference.SchemeFile {
			return next(ctx, l, w)
		}
		f, ok := files[w.Platform]
		if !ok || f.path != l.Name {
			return registry.Artifact{}, errors.New("it would never run: an entry before it is for the same platform")
		}
		a := registry.Literal(f.in.WithDigest(""), w.Role, f.file.Title, f.file.Data)
		a.Root.Digest = f.in.Digest
		return a, nil
	}, nil
}

// files returns the local files that a runtime names, by platform.
func (b *beside) files(known fnexec.Runtime, rt catalog.Runtime) (map[string]*one, mediatypes.Role, error) {
	out := map[string]*one{}
	var role mediatypes.Role
	for _, entry := range chosen(rt) {
		p, err := known.Prepare(rt.Spec, fnexec.Site{Dir: b.dir, Platform: entry.platform})
		if err != nil {
			return nil, "", err
		}
		n := p.Needs
		data, taken := b.data[n.From.Name]
		if n.Literal != nil || n.From.Scheme != reference.SchemeFile || !taken {
			continue
		}
		platform := strings.TrimPrefix(entry.platform, noPlatform)
		out[platform] = &one{path: n.From.Name, file: registry.File{Title: filepath.Base(n.From.Name), Platform: platform, Data: data}}
		role = n.Want.Role
	}
	return out, role, nil
}

// take makes artifacts of files: an index of those that have a platform, and an artifact of the one
// for all platforms. A tag keeps each from being garbage collected. The tag contains the digest, so
// it is never moved.
func (b *beside) take(files map[string]*one, role mediatypes.Role, at catalog.FunctionID) error {
	for _, platforms := range [][]string{{""}, slices.Sorted(maps.Keys(files))} {
		var c companion
		var in []*one
		for _, p := range platforms {
			if f, ok := files[p]; ok && f.in.Digest == "" {
				in = append(in, f)
				c.bundle.Files = append(c.bundle.Files, f.file)
				c.paths = append(c.paths, b.name(f.path))
			}
		}
		if len(in) == 0 {
			continue
		}
		c.bundle.Role = role
		a, err := b.pack(b.to, c.bundle)
		if err != nil {
			return err
		}
		c.tag = tagOf(at, a)
		c.pinned = b.written.WithDigest(a.Root.Digest)
		c.pinned.Tag = c.tag
		if _, err := reference.Parse(c.pinned.String()); err != nil {
			return err
		}
		for _, f := range in {
			f.in = c.pinned
		}
		b.list = append(b.list, c)
	}
	return nil
}

// name returns the path of a file relative to the catalog.
func (b *beside) name(path string) string {
	rel, err := filepath.Rel(b.dir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// digestLetters is the number of digits of a digest in a tag.
const digestLetters = 12

// maxFunctionTag limits the name of a function in a tag, in bytes.
const maxFunctionTag = 100

// tagOf returns the tag of a function's artifact: kind, version if there is one, and the beginning
// of the digest.
func tagOf(id catalog.FunctionID, a registry.Artifact) string {
	plain := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.':
			return r
		}
		return '-'
	}
	name := id.Kind
	if id.Version != "" {
		name += "-" + id.Version
	}
	name = strings.TrimLeft(strings.Map(plain, name), "-.")
	name = name[:min(len(name), maxFunctionTag)]
	return strings.TrimLeft(name+"-"+a.Root.Digest.Encoded()[:digestLetters], "-")
}

// besideRow is an artifact that was published beside a catalog.
type besideRow struct {
	Files []string `json:"files"`
	Ref   string   `json:"ref"` // with its digest, as the catalog names it
}

// push publishes the artifacts.
func (b *beside) push(ctx context.Context, e *env, client *registry.Client) ([]besideRow, error) {
	if b == nil {
		return nil, nil
	}
	var rows []besideRow
	for _, c := range b.list {
		to := b.to
		to.Tag = c.tag
		a, err := client.Push(ctx, to, c.bundle)
		if err != nil {
			return rows, fmt.Errorf("publishing %s: %w", strings.Join(c.paths, ", "), err)
		}
		row := besideRow{c.paths, a.Pinned().String()}
		e.note("published %s: %s", strings.Join(row.Files, ", "), row.Ref)
		rows = append(rows, row)
	}
	return rows, nil
}
