package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// descend plans the directories that a layer refers to.
func (p *plan) descend(ctx context.Context, l *layer) error {
	l.below = map[string][]string{}
	var errs []error
	for _, field := range []struct {
		name  string
		paths []string
	}{{"resources", l.kust.Resources}, {"components", l.kust.Components}} {
		for i, path := range field.paths {
			if path == "" { // it would lead back to the directory itself
				_, list := l.doc.field(field.name)
				errs = append(errs, l.doc.errorf(cmp.Or(list, l.doc.node), "%s[%d] is empty: a path is expected", field.name, i))
				continue
			}
			f := p.refIn(l, path)
			if !p.spot(f.place().dir).exists() {
				continue // checkPaths says so
			}
			found, err := p.directory(ctx, f)
			if found.isDir {
				l.below[path] = found.roots
			}
			if err == nil && found.composition && field.name == "components" {
				err = f.errorf("%s is a Composition, and no Component: list it in transformers", f.written)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, l.handOn())...)
}

// refIn is a path of a layer: as it is written there, or as a name of ours stands for it.
func (p *plan) refIn(l *layer, path string) fileRef {
	if f, ok := p.ref(l, path); ok {
		return f
	}
	return fileRef{written: path, at: l.place, where: l.doc.where(l.scalar(l.doc.node, path))}
}

// ref gives what a name of ours stands for in a layer. They stand in what a Composition
// holds, and nowhere else: elsewhere it is the user who wrote the name.
func (p *plan) ref(l *layer, name string) (f fileRef, ours bool) {
	f, ours = p.refs[name]
	return f, ours && l.inline
}

// checkRef checks a path that a name of ours stands for, and serves the file.
func (l *layer) checkRef(p *plan, f pathField, ref fileRef) error {
	at := ref.place()
	switch why := remoteForm(ref.written); {
	case f.dirs && filepath.IsAbs(ref.written) && p.fsys.IsDir(at.dir):
		return ref.errorf("%s: the path has to be relative", ref.written)
	case f.dirs && p.fsys.IsDir(at.dir):
		return nil
	case why != "" && !p.fsys.Exists(at.dir):
		return ref.errorf("%s: %s cannot be remote yet: %s", ref.written, f.field, why)
	case f.dirs && slices.Contains(compositionNames(), filepath.Base(at.dir)):
		return nil
	}
	return p.link(f.path, l.root)
}

// handOn writes the paths of resources and directories so that they cannot be taken for a
// URL, and those of directories so that kustomize finds what was planned for them.
func (l *layer) handOn() error {
	for _, field := range []string{"resources", "bases", "components"} {
		raw, ok := l.fields[field]
		if !ok {
			continue
		}
		var paths, out []string
		if err := json.Unmarshal(raw, &paths); err != nil {
			return fmt.Errorf("reading %s of %s: %w", field, l.doc.file, err)
		}
		if len(paths) == 0 {
			continue // to kustomize, none is something else than nothing
		}
		for _, p := range paths {
			found, err := l.handOnPath(p)
			if err != nil {
				return err
			}
			out = append(out, found...)
		}
		var err error
		if l.fields[field], err = json.Marshal(out); err != nil {
			return fmt.Errorf("writing %s of %s: %w", field, l.doc.file, err)
		}
	}
	return nil
}

func (l *layer) handOnPath(path string) ([]string, error) {
	roots, isDir := l.below[path]
	moved := isDir && (l.inline || len(roots) != 1 || strings.Contains(roots[0], ownPrefix))
	switch {
	case !moved && path != "" && !strings.HasPrefix(path, ".") && !filepath.IsAbs(path):
		return []string{"./" + path}, nil
	case !moved:
		return []string{path}, nil
	}
	var out []string
	for _, root := range roots {
		rel, err := relativeTo(l.root, root)
		if err != nil {
			return nil, err
		}
		out = append(out, rel)
	}
	return out, nil
}
