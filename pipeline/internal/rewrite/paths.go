package rewrite

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/krmcat/krmcat/pipeline/internal/disk"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// pathField is a path that kustomize will follow, and the field it stands in.
type pathField struct {
	field string // top-level, for the position
	path  string
	dirs  bool // may name a directory
}

// pathFields lists every path of a kustomization.
func (l *layer) pathFields() []pathField {
	k := &l.kust
	var all []pathField
	add := func(field string, dirs bool, paths ...string) {
		for _, p := range paths {
			if p != "" {
				all = append(all, pathField{field, p, dirs})
			}
		}
	}
	add("resources", true, k.Resources...)
	add("components", true, k.Components...)
	add("crds", false, k.Crds...)
	add("configurations", false, k.Configurations...)
	add("openapi", false, k.OpenAPI["path"])
	for _, p := range k.Patches {
		add("patches", false, p.Path)
	}
	for _, p := range k.PatchesStrategicMerge { //nolint:staticcheck // deprecated, and still read by kustomize
		add("patchesStrategicMerge", false, string(p))
	}
	for _, p := range k.PatchesJson6902 { //nolint:staticcheck // deprecated, and still read by kustomize
		add("patchesJson6902", false, p.Path)
	}
	for _, r := range k.Replacements {
		add("replacements", false, r.Path)
	}
	for _, g := range k.ConfigMapGenerator {
		add("configMapGenerator", false, generatorPaths(g.KvPairSources)...)
	}
	for _, g := range k.SecretGenerator {
		add("secretGenerator", false, generatorPaths(g.KvPairSources)...)
	}
	if k.HelmGlobals != nil {
		add("helmGlobals", true, k.HelmGlobals.ChartHome)
	}
	for _, c := range k.HelmCharts {
		add("helmCharts", false, append([]string{c.ValuesFile}, c.AdditionalValuesFiles...)...)
	}
	return all
}

func generatorPaths(s types.KvPairSources) []string {
	paths := slices.Clone(s.EnvSources)
	for _, f := range s.FileSources {
		if source.RemoteForm(f) != "" {
			paths = append(paths, f) // a URL may hold an equal sign of its own
			continue
		}
		_, file := fnconfig.SplitFileSource(f)
		paths = append(paths, file)
	}
	return paths
}

// checkPaths refuses every path through which kustomize would reach beyond this machine,
// and what is not there. What is local is handed on as ./name, so that nothing about its
// name makes kustomize think otherwise.
func (l *layer) checkPaths(p *plan) error {
	var errs []error
	for _, f := range l.pathFields() {
		_, at := l.doc.Field(f.field)
		if at == nil && f.field == "resources" {
			_, at = l.doc.Field("bases") // kustomize folds them into resources
		}
		errs = append(errs, l.checkPath(p, f, l.scalar(at, f.path)))
	}
	if len(l.kust.HelmCharts) > 0 {
		_, at := l.doc.Field("helmCharts")
		errs = append(errs, p.helmAt(l.doc.Where(at), "helmCharts"))
		for _, c := range l.kust.HelmCharts {
			errs = append(errs, chartName(l.doc.Where(at), c.Name, c.Version))
		}
	}
	if len(l.kust.HelmCharts) > 0 && l.inline {
		_, at := l.doc.Field("helmCharts")
		errs = append(errs, l.doc.Errorf(at, "helmCharts: in a Composition, a chart is a transformer of kind %s", fnconfig.HelmGenerator))
	}
	return errors.Join(errs...)
}

func (l *layer) checkPath(p *plan, f pathField, at *yaml.Node) error {
	if f.field == "patchesStrategicMerge" && strings.ContainsAny(f.path, "\n{:") && source.RemoteForm(f.path) == "" {
		return nil // the text of a patch, and not its path
	}
	if f.field == "patchesStrategicMerge" { // an entry may be the text of a patch: no other field's paths are parsed
		docs, err := source.ParseDocuments(l.doc.File, []byte(f.path))
		if err == nil && !slices.ContainsFunc(docs, source.Document.SaysSomething) {
			p.Warn(l.doc.Where(at), f.field+": an entry is empty: it patches nothing, as in kustomize")
			return nil
		}
	}
	if ref, ok := p.ref(l, f.path); ok {
		return l.checkRef(p, f, ref)
	}
	if err := source.OwnName(l.doc.Where(at), f.path); err != nil {
		return err
	}
	local := l.Join(f.path).Dir
	spot := p.spot(local)
	if why := source.RemoteForm(f.path); why != "" && !(f.dirs && spot.exists()) {
		return l.doc.Errorf(at, "%s: %s cannot be remote yet: %s", f.path, f.field, why)
	}
	switch {
	case f.dirs && filepath.IsAbs(f.path) && p.FS.IsDir(f.path):
		return l.doc.Errorf(at, "%s: the path has to be relative", f.path)
	case f.field == "helmCharts" && spot.isFile:
		return p.LeaveOut(l.restricts(p, f.path, l.doc.Where(at)))
	case f.field == "helmGlobals" || f.field == "helmCharts":
	case !spot.exists():
		return l.doc.Missing(at, f.path+": no such file or directory")
	case f.dirs && slices.Contains(source.CompositionNames(), filepath.Base(local)): // it stands for its directory
	case spot.isFile:
		return p.LeaveOut(l.restricts(p, f.path, l.doc.Where(at)))
	}
	return nil
}

// restricts says what kustomize would when it reads a file, and before anything is run: that the
// load restrictor keeps it from that.
func (l *layer) restricts(p *plan, path, where string) error {
	if p.Options.LoadAnywhere {
		return nil
	}
	real, err := p.real(l.Join(path).Dir)
	if err != nil || disk.Within(l.Dir, real) {
		return nil //nolint:nilerr // kustomize says why it cannot be read
	}
	return source.Restricted(where, path, l.Display)
}

// helmAt refuses what runs helm, or notes it: it is the one process that nothing confines.
func (p *plan) helmAt(where, what string) error {
	if p.helm.never {
		return &source.SyntaxError{Where: where, Msg: what + ": helm does not run to make function configs"}
	}
	if !p.Options.Helm.Enabled {
		return p.LeaveOut(&source.SyntaxError{Where: where, Msg: what + ": helm runs only with " + source.HelmFlag, Permit: source.HelmFlag})
	}
	if !p.helm.runs {
		p.helm.runs, p.helm.where = true, where
	}
	p.notes = append(p.notes, "helm runs unconfined for "+where)
	return nil
}

// checkBuiltin refuses a builtin config through which kustomize would reach beyond this
// machine, or read a kustomization that is served rewritten. It looks at the values that
// kustomize will see, under every name that could be a path's.
func (p *plan) checkBuiltin(l *layer, c fnconfig.Config) error {
	if c.ID.Kind == fnconfig.HelmGenerator {
		if err := p.helmAt(c.Where(c.Document.Node), "the builtin "+fnconfig.HelmGenerator); err != nil {
			return err
		}
	}
	v, err := c.Value()
	if err != nil {
		return err
	}
	if c.ID.Kind == fnconfig.HelmGenerator {
		name, _ := v["name"].(string)
		version, _ := v["version"].(string)
		err = chartName(c.Where(c.Document.Node), name, version)
	}
	p.WarnOfStrangers(c.Document, fnconfig.PluginType(c.ID.Kind))
	return errors.Join(err, c.CheckText(c.Document.Node, v), p.checkValue(l, c, "", v))
}

func (p *plan) checkValue(l *layer, c fnconfig.Config, key string, v any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if strings.IndexFunc(k, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
				// kustomize takes ſ for s, and more such.
				return c.Errorf(c.Document.Node, "the field %q of a builtin is not in ASCII", k)
			}
			if err := p.checkValue(l, c, k, v[k]); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := p.checkValue(l, c, key, item); err != nil {
				return err
			}
		}
	case string:
		if pathKey(key) {
			return p.checkBuiltinPath(l, c, key, v)
		}
	}
	return nil
}

// pathKey tells the fields of builtins that name files: path, paths, files, envs, env,
// valuesFile, targetFilePath and whatever is called alike.
func pathKey(key string) bool {
	lower := strings.TrimSuffix(strings.ToLower(key), "s")
	return strings.HasSuffix(lower, "path") || strings.HasSuffix(lower, "file") || strings.HasSuffix(lower, "env") ||
		strings.HasSuffix(lower, "home")
}

func (p *plan) checkBuiltinPath(l *layer, c fnconfig.Config, key, path string) error {
	at := c.Document.Node
	if n := source.ScalarIn(at, path); n != nil {
		at = n
	}
	_, file := fnconfig.SplitFileSource(path)
	for _, f := range slices.Compact([]string{path, file}) {
		if err := source.OwnName(c.Where(at), f); err != nil {
			return err
		}
		if why := source.RemoteForm(f); why != "" {
			return c.Errorf(at, "%s: %s of a builtin cannot be remote yet: %s", f, key, why)
		}
		if p.isKustomization(l, f) {
			return c.Errorf(at, "%s: %s of a builtin names a kustomization file", f, key)
		}
		if !p.spot(l.Join(f).Dir).isFile {
			continue
		}
		if err := p.LeaveOut(l.restricts(p, f, c.Where(at))); err != nil {
			return err
		}
	}
	return nil
}

// redirectData gives fields that read a kustomization as data (a generator's files) its
// original text. It runs when the whole tree is planned.
func (p *plan) redirectData() error {
	for _, dir := range slices.Sorted(maps.Keys(p.layers)) {
		l := p.layers[dir]
		for _, f := range l.pathFields() {
			switch f.field {
			case "configMapGenerator", "secretGenerator":
				continue
			}
			if _, ours := p.ref(l, f.path); ours {
				continue
			}
			if p.isKustomization(l, f.path) {
				_, at := l.doc.Field(f.field)
				return l.doc.Errorf(source.ScalarIn(at, f.path), "%s: %s names a kustomization file; name its directory", f.path, f.field)
			}
		}
		if err := redirectGenerator(p, l, "configMapGenerator", l.kust.ConfigMapGenerator,
			func(g *types.ConfigMapArgs) *types.KvPairSources { return &g.KvPairSources }); err != nil {
			return err
		}
		if err := redirectGenerator(p, l, "secretGenerator", l.kust.SecretGenerator,
			func(g *types.SecretArgs) *types.KvPairSources { return &g.KvPairSources }); err != nil {
			return err
		}
	}
	return nil
}

// redirectGenerator rewrites one generator field of a layer, if it has to be.
func redirectGenerator[T any](p *plan, l *layer, field string, gs []T, of func(*T) *types.KvPairSources) error {
	changed := false
	for i := range gs {
		s := of(&gs[i])
		for j, file := range s.EnvSources {
			name, err := p.redirect(l, file)
			if err != nil {
				return err
			}
			if name != "" {
				s.EnvSources[j], changed = name, true
			}
		}
		for j, written := range s.FileSources {
			key, file := fnconfig.SplitFileSource(written)
			name, err := p.redirect(l, file)
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
		return fmt.Errorf("writing %s of %s: %w", field, l.doc.File, err)
	}
	l.fields[field] = raw
	return nil
}

// isKustomization tells whether a path leads to a file that the overlay serves rewritten
// or not at all.
func (p *plan) isKustomization(l *layer, file string) bool {
	if _, ours := p.ref(l, file); ours || file == "" || !p.spot(l.Join(file).Dir).isFile {
		return false
	}
	real, err := p.real(l.Join(file).Dir)
	if err != nil {
		return false
	}
	for _, known := range source.KustomizationNames() {
		if filepath.Base(real) == known || filepath.Base(file) == known {
			return true
		}
	}
	for _, other := range p.layers {
		if real == other.real {
			return true
		}
	}
	return false
}

// redirect serves the text of a kustomization under another name, and gives it; "" for a
// file that is none.
func (p *plan) redirect(l *layer, file string) (string, error) {
	if !p.isKustomization(l, file) {
		return "", nil
	}
	dir, base, err := p.FS.CleanedAbs(l.Join(file).Dir)
	if err != nil {
		return "", &source.SyntaxError{Where: l.doc.File, Msg: file + " cannot be read", Err: err}
	}
	real := dir.Join(base)
	if !p.Options.LoadAnywhere && !disk.Within(l.Dir, real) {
		return "", p.LeaveOut(source.Restricted(l.doc.File, file, l.Display))
	}
	data, err := disk.Read(p.FS, real, disk.MaxData)
	if err != nil {
		return "", &source.SyntaxError{Where: l.doc.File, Msg: file + " cannot be read", Err: err}
	}
	name := p.OwnFile("data", file)
	p.overlay.Files[filepath.Join(l.Dir, name)] = data
	return name, nil
}
