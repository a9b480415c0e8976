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

// descend plans the directories that a kustomization refers to.
func (p *plan) descend(ctx context.Context, k *kustomization) error {
	k.below = map[string][]string{}
	var errs []error
	for _, field := range []struct {
		name  string
		paths []string
	}{{"resources", k.kust.Resources}, {"components", k.kust.Components}} {
		for i, path := range field.paths {
			if path == "" { // it would mean the directory itself
				_, list := k.doc.Field(field.name)
				errs = append(errs, k.doc.Errorf(cmp.Or(list, k.doc.Node), "%s[%d] is empty: a path is expected", field.name, i))
				continue
			}
			f := p.refIn(k, path)
			if !p.stat(f.Place().Dir).exists() {
				continue // checkPaths reports it
			}
			found, err := p.directory(ctx, f)
			if found.isDir {
				k.below[path] = found.roots
			}
			if err == nil && found.composition && field.name == "components" {
				err = f.Errorf("%s is a Composition, and no Component: list it in transformers", f.Written)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, k.writePaths())...)
}

// refIn returns the reference for a path in a kustomization: the path as written, or the path to
// which a virtual name refers.
func (p *plan) refIn(k *kustomization, path string) source.FileRef {
	if f, ok := p.ref(k, path); ok {
		return f
	}
	return source.FileRef{Written: path, At: k.Place, Where: k.doc.Where(k.scalar(k.doc.Node, path))}
}

// ref returns the path to which a virtual name refers. krmcat writes such names only into the
// contents of a Composition: in any other kustomization, the user wrote the name.
func (p *plan) ref(k *kustomization, name string) (f source.FileRef, virtual bool) {
	f, virtual = p.Refs[name]
	return f, virtual && k.inline
}

// checkRef checks the path to which a virtual name refers, and serves the file.
func (k *kustomization) checkRef(p *plan, f pathField, ref source.FileRef) error {
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
	return p.link(f.path, k.root)
}

// writePaths writes the paths of files and directories so that kustomize cannot interpret them as
// a URL. A path of a directory is replaced by the directories that were planned for it.
func (k *kustomization) writePaths() error {
	for _, field := range []string{"resources", "bases", "components"} {
		raw, ok := k.fields[field]
		if !ok {
			continue
		}
		var paths, out []string
		if err := json.Unmarshal(raw, &paths); err != nil {
			return fmt.Errorf("reading %s of %s: %w", field, k.doc.File, err)
		}
		if len(paths) == 0 {
			continue // kustomize distinguishes an empty list from a missing one
		}
		for _, p := range paths {
			found, err := k.writePath(p)
			if err != nil {
				return err
			}
			out = append(out, found...)
		}
		var err error
		if k.fields[field], err = json.Marshal(out); err != nil {
			return fmt.Errorf("writing %s of %s: %w", field, k.doc.File, err)
		}
	}
	return nil
}

func (k *kustomization) writePath(path string) ([]string, error) {
	roots, isDir := k.below[path]
	moved := isDir && (k.inline || len(roots) != 1 || strings.Contains(roots[0], source.OwnPrefix))
	switch {
	case !moved && path != "" && !strings.HasPrefix(path, ".") && !filepath.IsAbs(path):
		return []string{"./" + path}, nil
	case !moved:
		return []string{path}, nil
	}
	var out []string
	for _, root := range roots {
		rel, err := source.RelativeTo(k.root, root)
		if err != nil {
			return nil, err
		}
		out = append(out, rel)
	}
	return out, nil
}
