package rewrite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/pipeline/internal/source"
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
				_, list := l.doc.Field(field.name)
				errs = append(errs, l.doc.Errorf(cmp.Or(list, l.doc.Node), "%s[%d] is empty: a path is expected", field.name, i))
				continue
			}
			f := p.refIn(l, path)
			if !p.spot(f.Place().Dir).exists() {
				continue // checkPaths says so
			}
			found, err := p.directory(ctx, f)
			if found.isDir {
				l.below[path] = found.roots
			}
			if err == nil && found.composition && field.name == "components" {
				err = f.Errorf("%s is a Composition, and no Component: list it in transformers", f.Written)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, l.handOn())...)
}

// refIn is a path of a layer: as it is written there, or as a name of ours stands for it.
func (p *plan) refIn(l *layer, path string) source.FileRef {
	if f, ok := p.ref(l, path); ok {
		return f
	}
	return source.FileRef{Written: path, At: l.Place, Where: l.doc.Where(l.scalar(l.doc.Node, path))}
}

// ref gives what a name of ours stands for in a layer. They stand in what a Composition
// holds, and nowhere else: elsewhere it is the user who wrote the name.
func (p *plan) ref(l *layer, name string) (f source.FileRef, ours bool) {
	f, ours = p.Refs[name]
	return f, ours && l.inline
}

// checkRef checks a path that a name of ours stands for, and serves the file.
func (l *layer) checkRef(p *plan, f pathField, ref source.FileRef) error {
	at := ref.Place()
	switch why := source.RemoteForm(ref.Written); {
	case f.dirs && filepath.IsAbs(ref.Written) && p.FS.IsDir(at.Dir):
		return ref.Errorf("%s: the path has to be relative", ref.Written)
	case f.dirs && p.FS.IsDir(at.Dir):
		return nil
	case why != "" && !p.FS.Exists(at.Dir):
		return ref.Errorf("%s: %s cannot be remote yet: %s", ref.Written, f.field, why)
	case f.dirs && slices.Contains(source.CompositionNames(), filepath.Base(at.Dir)):
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
			return fmt.Errorf("reading %s of %s: %w", field, l.doc.File, err)
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
			return fmt.Errorf("writing %s of %s: %w", field, l.doc.File, err)
		}
	}
	return nil
}

func (l *layer) handOnPath(path string) ([]string, error) {
	roots, isDir := l.below[path]
	moved := isDir && (l.inline || len(roots) != 1 || strings.Contains(roots[0], source.OwnPrefix))
	switch {
	case !moved && path != "" && !strings.HasPrefix(path, ".") && !filepath.IsAbs(path):
		return []string{"./" + path}, nil
	case !moved:
		return []string{path}, nil
	}
	var out []string
	for _, root := range roots {
		rel, err := source.RelativeTo(l.root, root)
		if err != nil {
			return nil, err
		}
		out = append(out, rel)
	}
	return out, nil
}
