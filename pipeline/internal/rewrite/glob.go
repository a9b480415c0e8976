package rewrite

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// mostMatches is the maximum number of files that one pattern may name.
const mostMatches = 10_000

// patternChars are the characters that make a path a pattern.
const patternChars = "*?["

// resourcePaths lists the paths of an accumulator. A pattern is replaced by the files that it
// matches, in the order of their paths.
func (p *plan) resourcePaths(c fnconfig.Config) ([]*yaml.Node, error) {
	nodes, err := c.ResourcePaths()
	if err != nil {
		return nil, err
	}
	var all []*yaml.Node
	for _, n := range nodes {
		f := p.Refs[n.Value]
		if !strings.ContainsAny(f.Written, patternChars) || source.RemoteForm(f.Written) != "" || p.FS.Exists(f.Place().Dir) {
			all = append(all, n)
			continue
		}
		matches, err := p.matches(f)
		if err != nil {
			return nil, err
		}
		for _, m := range matches {
			one := *n
			one.Value = p.Refer(source.FileRef{Written: m, At: f.At, Where: f.Where})
			all = append(all, &one)
		}
	}
	return all, nil
}

// matches returns the files that a pattern matches, relative to its directory. Directories, the
// files of Kustomizations and Compositions, and names that begin with a dot are left out.
func (p *plan) matches(f source.FileRef) ([]string, error) {
	dir := f.At.Dir
	switch {
	case filepath.IsAbs(f.Written):
		return nil, f.Errorf("%s: a pattern has to be relative", f.Written)
	case !p.Options.LoadAnywhere && !filepath.IsLocal(f.Written): // before anything is listed there
		return nil, source.Restricted(f.Where, f.Written, f.At.Display)
	case strings.Contains(f.Written, "**"):
		return nil, f.Errorf("%s: ** is not known: name each level, as in */*.yaml", f.Written)
	case runtime.GOOS != "windows":
		dir = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
	case strings.ContainsAny(dir, patternChars):
		return nil, f.Errorf("%s: a pattern cannot be used in the directory %s", f.Written, f.At.Display)
	}
	found, err := p.FS.Glob(dir + string(filepath.Separator) + f.Written)
	if err != nil {
		return nil, f.Errorf("%s: this is no pattern: %v", f.Written, err)
	}
	var names []string
	for _, path := range found {
		name := filepath.Base(path)
		if strings.HasPrefix(name, ".") || p.FS.IsDir(path) || slices.Contains(source.KustomizationNames(), name) || slices.Contains(source.CompositionNames(), name) {
			continue
		}
		rel, err := source.RelativeTo(f.At.Dir, path)
		if err != nil {
			return nil, err
		}
		if err := source.OwnName(f.Where, rel); err != nil {
			return nil, err
		}
		names = append(names, rel)
	}
	switch {
	case len(names) == 0:
		return nil, f.Errorf("%s matches no file of resources", f.Written)
	case len(names) > mostMatches:
		return nil, f.Errorf("%s matches %d files, the limit is %d", f.Written, len(names), mostMatches)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
