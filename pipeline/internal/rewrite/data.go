package rewrite

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/krmcat/krmcat/pipeline/internal/disk"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// redirectData serves the original text of a kustomization to fields that read it as data, the
// files of a generator. It runs after the whole tree is planned.
func (p *plan) redirectData() error {
	for _, dir := range slices.Sorted(maps.Keys(p.kustomizations)) {
		k := p.kustomizations[dir]
		for _, f := range k.pathFields() {
			switch f.field {
			case "configMapGenerator", "secretGenerator":
				continue
			}
			if _, virtual := p.ref(k, f.path); virtual {
				continue
			}
			if p.isKustomization(k, f.path) {
				_, at := k.doc.Field(f.field)
				return k.doc.Errorf(source.ScalarIn(at, f.path), "%s: %s names a kustomization file; name its directory", f.path, f.field)
			}
		}
		if err := redirectGenerator(p, k, "configMapGenerator", k.kust.ConfigMapGenerator,
			func(g *types.ConfigMapArgs) *types.KvPairSources { return &g.KvPairSources }); err != nil {
			return err
		}
		if err := redirectGenerator(p, k, "secretGenerator", k.kust.SecretGenerator,
			func(g *types.SecretArgs) *types.KvPairSources { return &g.KvPairSources }); err != nil {
			return err
		}
	}
	return nil
}

// redirectGenerator rewrites one field of generators if it names a kustomization.
func redirectGenerator[T any](p *plan, k *kustomization, field string, gs []T, of func(*T) *types.KvPairSources) error {
	changed := false
	for i := range gs {
		s := of(&gs[i])
		for j, file := range s.EnvSources {
			name, err := p.redirect(k, file)
			if err != nil {
				return err
			}
			if name != "" {
				s.EnvSources[j], changed = name, true
			}
		}
		for j, written := range s.FileSources {
			key, file := fnconfig.SplitFileSource(written)
			name, err := p.redirect(k, file)
			if err != nil {
				return err
			}
			if name != "" {
				s.FileSources[j], changed = key+"="+name, true
			}
		}
	}
	if !changed {
		return nil
	}
	raw, err := json.Marshal(gs)
	if err != nil {
		return fmt.Errorf("writing %s of %s: %w", field, k.doc.File, err)
	}
	k.fields[field] = raw
	return nil
}

// isKustomization reports whether a path refers to a kustomization file. Such a file is served
// rewritten or cannot be read.
func (p *plan) isKustomization(k *kustomization, file string) bool {
	if _, virtual := p.ref(k, file); virtual || file == "" || !p.stat(k.Join(file).Dir).isFile {
		return false
	}
	real, err := p.real(k.Join(file).Dir)
	if err != nil {
		return false
	}
	for _, known := range source.KustomizationNames() {
		if filepath.Base(real) == known || filepath.Base(file) == known {
			return true
		}
	}
	for _, other := range p.kustomizations {
		if real == other.real {
			return true
		}
	}
	return false
}

// redirect serves the text of a kustomization under another name, and returns the name. The name is
// "" if the file is not a kustomization.
func (p *plan) redirect(k *kustomization, file string) (string, error) {
	if !p.isKustomization(k, file) {
		return "", nil
	}
	dir, base, err := p.FS.CleanedAbs(k.Join(file).Dir)
	if err != nil {
		return "", &source.SyntaxError{Where: k.doc.File, Msg: file + " cannot be read", Err: err}
	}
	real := dir.Join(base)
	if !p.Options.LoadAnywhere && !disk.Within(k.Dir, real) {
		return "", p.LeaveOut(source.Restricted(k.doc.File, file, k.Display))
	}
	data, err := disk.Read(p.FS, real, disk.MaxData)
	if err != nil {
		return "", &source.SyntaxError{Where: k.doc.File, Msg: file + " cannot be read", Err: err}
	}
	name := p.OwnFile("data", file)
	p.overlay.Files[filepath.Join(k.Dir, name)] = data
	return name, nil
}
