package pipeline

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
		if remoteForm(f) != "" {
			paths = append(paths, f) // a URL may hold an equal sign of its own
			continue
		}
		_, file := splitFileSource(f)
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
		_, at := l.doc.field(f.field)
		if at == nil && f.field == "resources" {
			_, at = l.doc.field("bases") // kustomize folds them into resources
		}
		errs = append(errs, l.checkPath(p, f, l.scalar(at, f.path)))
	}
	if len(l.kust.HelmCharts) > 0 {
		_, at := l.doc.field("helmCharts")
		errs = append(errs, p.helmAt(l.doc.where(at), "helmCharts"))
		for _, c := range l.kust.HelmCharts {
			errs = append(errs, chartName(l.doc.where(at), c.Name, c.Version))
		}
	}
	if len(l.kust.HelmCharts) > 0 && l.inline {
		_, at := l.doc.field("helmCharts")
		errs = append(errs, l.doc.errorf(at, "helmCharts: in a Composition, a chart is a transformer of kind %s", helmGenerator))
	}
	return errors.Join(errs...)
}

func (l *layer) checkPath(p *plan, f pathField, at *yaml.Node) error {
	if f.field == "patchesStrategicMerge" && strings.ContainsAny(f.path, "\n{:") && remoteForm(f.path) == "" {
		return nil // the text of a patch, and not its path
	}
	if f.field == "patchesStrategicMerge" { // an entry may be the text of a patch: no other field's paths are parsed
		docs, err := parseDocuments(l.doc.file, []byte(f.path))
		if err == nil && !slices.ContainsFunc(docs, document.saysSomething) {
			p.warn(l.doc.where(at), f.field+": an entry is empty: it patches nothing, as in kustomize")
			return nil
		}
	}
	if ref, ok := p.ref(l, f.path); ok {
		return l.checkRef(p, f, ref)
	}
	if err := ownName(l.doc.where(at), f.path); err != nil {
		return err
	}
	local := l.join(f.path).dir
	spot := p.spot(local)
	if why := remoteForm(f.path); why != "" && !(f.dirs && spot.exists()) {
		return l.doc.errorf(at, "%s: %s cannot be remote yet: %s", f.path, f.field, why)
	}
	switch {
	case f.dirs && filepath.IsAbs(f.path) && p.fsys.IsDir(f.path):
		return l.doc.errorf(at, "%s: the path has to be relative", f.path)
	case f.field == "helmCharts" && spot.isFile:
		return p.leaveOut(l.restricts(p, f.path, l.doc.where(at)))
	case f.field == "helmGlobals" || f.field == "helmCharts":
	case !spot.exists():
		return l.doc.missing(at, f.path+": no such file or directory")
	case f.dirs && slices.Contains(compositionNames(), filepath.Base(local)): // it stands for its directory
	case spot.isFile:
		return p.leaveOut(l.restricts(p, f.path, l.doc.where(at)))
	}
	return nil
}

// restricts says what kustomize would when it reads a file, and before anything is run: that the
// load restrictor keeps it from that.
func (l *layer) restricts(p *plan, path, where string) error {
	if p.options.LoadAnywhere {
		return nil
	}
	real, err := p.real(l.join(path).dir)
	if err != nil || disk.Within(l.dir, real) {
		return nil //nolint:nilerr // kustomize says why it cannot be read
	}
	return restricted(where, path, l.display)
}

// helmAt refuses what runs helm, or notes it: it is the one process that nothing confines.
func (p *plan) helmAt(where, what string) error {
	if p.helm.never {
		return &SyntaxError{Where: where, Msg: what + ": helm does not run to make function configs"}
	}
	if !p.options.Helm.Enabled {
		return p.leaveOut(&SyntaxError{Where: where, Msg: what + ": helm runs only with " + helmFlag, Permit: helmFlag})
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
func (p *plan) checkBuiltin(l *layer, c functionConfig) error {
	if c.id.Kind == helmGenerator {
		if err := p.helmAt(c.where(c.document.node), "the builtin "+helmGenerator); err != nil {
			return err
		}
	}
	v, err := c.value()
	if err != nil {
		return err
	}
	if c.id.Kind == helmGenerator {
		name, _ := v["name"].(string)
		version, _ := v["version"].(string)
		err = chartName(c.where(c.document.node), name, version)
	}
	p.warnOfStrangers(c.document, pluginType(c.id.Kind))
	return errors.Join(err, c.checkText(c.document.node, v), p.checkValue(l, c, "", v))
}

func (p *plan) checkValue(l *layer, c functionConfig, key string, v any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if strings.IndexFunc(k, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
				// kustomize takes ſ for s, and more such.
				return c.errorf(c.document.node, "the field %q of a builtin is not in ASCII", k)
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

func (p *plan) checkBuiltinPath(l *layer, c functionConfig, key, path string) error {
	at := c.document.node
	if n := scalarIn(at, path); n != nil {
		at = n
	}
	_, file := splitFileSource(path)
	for _, f := range slices.Compact([]string{path, file}) {
		if err := ownName(c.where(at), f); err != nil {
			return err
		}
		if why := remoteForm(f); why != "" {
			return c.errorf(at, "%s: %s of a builtin cannot be remote yet: %s", f, key, why)
		}
		if p.isKustomization(l, f) {
			return c.errorf(at, "%s: %s of a builtin names a kustomization file", f, key)
		}
		if !p.spot(l.join(f).dir).isFile {
			continue
		}
		if err := p.leaveOut(l.restricts(p, f, c.where(at))); err != nil {
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
				_, at := l.doc.field(f.field)
				return l.doc.errorf(scalarIn(at, f.path), "%s: %s names a kustomization file; name its directory", f.path, f.field)
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
			key, file := splitFileSource(written)
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
		return fmt.Errorf("writing %s of %s: %w", field, l.doc.file, err)
	}
	l.fields[field] = raw
	return nil
}

// isKustomization tells whether a path leads to a file that the overlay serves rewritten
// or not at all.
func (p *plan) isKustomization(l *layer, file string) bool {
	if _, ours := p.ref(l, file); ours || file == "" || !p.spot(l.join(file).dir).isFile {
		return false
	}
	real, err := p.real(l.join(file).dir)
	if err != nil {
		return false
	}
	for _, known := range kustomizationNames() {
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
	dir, base, err := p.fsys.CleanedAbs(l.join(file).dir)
	if err != nil {
		return "", &SyntaxError{Where: l.doc.file, Msg: file + " cannot be read", Err: err}
	}
	real := dir.Join(base)
	if !p.options.LoadAnywhere && !disk.Within(l.dir, real) {
		return "", p.leaveOut(restricted(l.doc.file, file, l.display))
	}
	data, err := disk.Read(p.fsys, real, disk.MaxData)
	if err != nil {
		return "", &SyntaxError{Where: l.doc.file, Msg: file + " cannot be read", Err: err}
	}
	name := p.ownFile("data", file)
	p.overlay.Files[filepath.Join(l.dir, name)] = data
	return name, nil
}
