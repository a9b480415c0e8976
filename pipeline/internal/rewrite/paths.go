package rewrite

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/disk"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// pathField is a path that kustomize will read, and its field.
type pathField struct {
	field string // the top-level field, for the position
	path  string
	dirs  bool // the path may name a directory
}

// pathFields returns every path of a kustomization.
func (k *kustomization) pathFields() []pathField {
	kust := &k.kust
	var all []pathField
	add := func(field string, dirs bool, paths ...string) {
		for _, p := range paths {
			if p != "" {
				all = append(all, pathField{field, p, dirs})
			}
		}
	}
	add("resources", true, kust.Resources...)
	add("components", true, kust.Components...)
	add("crds", false, kust.Crds...)
	add("configurations", false, kust.Configurations...)
	add("openapi", false, kust.OpenAPI["path"])
	for _, p := range kust.Patches {
		add("patches", false, p.Path)
	}
	for _, p := range kust.PatchesStrategicMerge { //nolint:staticcheck // deprecated, and still read by kustomize
		add("patchesStrategicMerge", false, string(p))
	}
	for _, p := range kust.PatchesJson6902 { //nolint:staticcheck // deprecated, and still read by kustomize
		add("patchesJson6902", false, p.Path)
	}
	for _, r := range kust.Replacements {
		add("replacements", false, r.Path)
	}
	for _, g := range kust.ConfigMapGenerator {
		add("configMapGenerator", false, generatorPaths(g.KvPairSources)...)
	}
	for _, g := range kust.SecretGenerator {
		add("secretGenerator", false, generatorPaths(g.KvPairSources)...)
	}
	if kust.HelmGlobals != nil {
		add("helmGlobals", true, kust.HelmGlobals.ChartHome)
	}
	for _, c := range kust.HelmCharts {
		add("helmCharts", false, append([]string{c.ValuesFile}, c.AdditionalValuesFiles...)...)
	}
	return all
}

func generatorPaths(s types.KvPairSources) []string {
	paths := slices.Clone(s.EnvSources)
	for _, f := range s.FileSources {
		if source.RemoteForm(f) != "" {
			paths = append(paths, f) // a URL may contain an equals sign
			continue
		}
		_, file := fnconfig.SplitFileSource(f)
		paths = append(paths, file)
	}
	return paths
}

// checkPaths refuses every path for which kustomize would use the network, and every path that does
// not exist.
func (k *kustomization) checkPaths(p *plan) error {
	var errs []error
	for _, f := range k.pathFields() {
		_, at := k.doc.Field(f.field)
		if at == nil && f.field == "resources" {
			_, at = k.doc.Field("bases") // kustomize adds them to resources
		}
		errs = append(errs, k.checkPath(p, f, k.scalar(at, f.path)))
	}
	if len(k.kust.HelmCharts) > 0 {
		_, at := k.doc.Field("helmCharts")
		errs = append(errs, p.helmAt(k.doc.Where(at), "helmCharts"))
		for _, c := range k.kust.HelmCharts {
			errs = append(errs, chartName(k.doc.Where(at), c.Name, c.Version))
		}
	}
	if len(k.kust.HelmCharts) > 0 && k.inline {
		_, at := k.doc.Field("helmCharts")
		errs = append(errs, k.doc.Errorf(at, "helmCharts: in a Composition, a chart is a transformer of kind %s", fnconfig.HelmGenerator))
	}
	return errors.Join(errs...)
}

func (k *kustomization) checkPath(p *plan, f pathField, at *yaml.Node) error {
	if f.field == "patchesStrategicMerge" && strings.ContainsAny(f.path, "\n{:") && source.RemoteForm(f.path) == "" {
		return nil // it is the text of a patch and not a path
	}
	if f.field == "patchesStrategicMerge" { // only here may an entry be the text of a patch
		docs, err := source.ParseDocuments(k.doc.File, []byte(f.path))
		if err == nil && !slices.ContainsFunc(docs, source.Document.SaysSomething) {
			p.Warn(k.doc.Where(at), f.field+": an entry is empty: it patches nothing, as in kustomize")
			return nil
		}
	}
	if ref, ok := p.ref(k, f.path); ok {
		return k.checkRef(p, f, ref)
	}
	if err := source.OwnName(k.doc.Where(at), f.path); err != nil {
		return err
	}
	local := k.Join(f.path).Dir
	info := p.stat(local)
	if why := source.RemoteForm(f.path); why != "" && !(f.dirs && info.exists()) {
		return k.doc.Errorf(at, "%s: %s cannot be remote yet: %s", f.path, f.field, why)
	}
	switch {
	case f.dirs && filepath.IsAbs(f.path) && p.FS.IsDir(f.path):
		return k.doc.Errorf(at, "%s: the path has to be relative", f.path)
	case f.field == "helmCharts" && info.isFile:
		return p.LeaveOut(k.restricts(p, f.path, k.doc.Where(at)))
	case f.field == "helmGlobals" || f.field == "helmCharts":
	case !info.exists():
		return k.doc.Missing(at, f.path+": no such file or directory")
	case f.dirs && slices.Contains(source.CompositionNames(), filepath.Base(local)): // its directory is meant
	case info.isFile:
		return p.LeaveOut(k.restricts(p, f.path, k.doc.Where(at)))
	}
	return nil
}

// restricts returns an error if the load restrictor forbids to read a file. This reports it before
// anything runs; kustomize would report it only when it reads the file.
func (k *kustomization) restricts(p *plan, path, where string) error {
	if p.Options.LoadAnywhere {
		return nil
	}
	real, err := p.real(k.Join(path).Dir)
	if err != nil || disk.Within(k.Dir, real) {
		return nil //nolint:nilerr // kustomize reports why it cannot be read
	}
	return source.Restricted(where, path, k.Display)
}
