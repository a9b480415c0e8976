package rewrite

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// link serves a file in a directory, under the virtual name that refers to it.
func (p *plan) link(name, root string) error {
	f := p.Refs[name]
	if err := p.NotRemote(f, "it cannot be remote yet"); err != nil {
		return err
	}
	real, err := p.Confine(f)
	if err != nil {
		return err
	}
	p.serveLink(name, root, bridge.Link{File: real, Within: f.At.Dir})
	return nil
}

// serveLink adds a link to the tree. Without a load restrictor, the file may be in any directory.
func (p *plan) serveLink(name, root string, l bridge.Link) {
	if p.Options.LoadAnywhere {
		l.Within = ""
	}
	p.overlay.Links[filepath.Join(root, name)] = l
}

// checkBuiltin refuses the config of a builtin if kustomize would use the network for it, or would
// read a kustomization that is served rewritten. It checks the values that kustomize will see, in
// every field whose name is like that of a path.
func (p *plan) checkBuiltin(k *kustomization, c fnconfig.Config) error {
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
	return errors.Join(err, c.CheckText(c.Document.Node, v), p.checkValue(k, c, "", v))
}

func (p *plan) checkValue(ku *kustomization, c fnconfig.Config, key string, v any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if strings.IndexFunc(k, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
				// Go's JSON decoder, which kustomize uses, reads ſ as s, and some other letters likewise.
				return c.Errorf(c.Document.Node, "the field %q of a builtin is not in ASCII", k)
			}
			if err := p.checkValue(ku, c, k, v[k]); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := p.checkValue(ku, c, key, item); err != nil {
				return err
			}
		}
	case string:
		if pathKey(key) {
			return p.checkBuiltinPath(ku, c, key, v)
		}
	}
	return nil
}

// pathKey reports whether the name of a field of a builtin is that of a path: path, paths, files,
// envs, env, valuesFile, targetFilePath and similar names.
func pathKey(key string) bool {
	lower := strings.TrimSuffix(strings.ToLower(key), "s")
	return strings.HasSuffix(lower, "path") || strings.HasSuffix(lower, "file") || strings.HasSuffix(lower, "env") ||
		strings.HasSuffix(lower, "home")
}

func (p *plan) checkBuiltinPath(k *kustomization, c fnconfig.Config, key, path string) error {
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
		if p.isKustomization(k, f) {
			return c.Errorf(at, "%s: %s of a builtin names a kustomization file", f, key)
		}
		if !p.stat(k.Join(f).Dir).isFile {
			continue
		}
		if err := p.LeaveOut(k.restricts(p, f, c.Where(at))); err != nil {
			return err
		}
	}
	return nil
}

// builtin returns the config of a builtin of a Composition on one line, and serves the files that
// it names in root, from which kustomize will read them.
func (p *plan) builtin(t *composition.Transformer, c fnconfig.Config, root string) (string, error) {
	p.builtins[builtinAt{root, c.ID.Kind, c.Name}] = t.Position()
	if err := p.linkPaths(c, root); err != nil {
		return "", err
	}
	v, err := c.WithDefaults(t.At.Dir)
	if err != nil {
		return "", err
	}
	return c.Print(v)
}

// linkPaths serves the files that a config names in a directory.
func (p *plan) linkPaths(c fnconfig.Config, root string) error {
	for _, n := range fnconfig.PathsIn(c) {
		name := n.Value
		if _, file := fnconfig.SplitFileSource(name); p.Refs[file].Written != "" {
			name = file
		}
		if _, ok := p.Refs[name]; !ok {
			continue
		}
		if err := p.link(name, root); err != nil {
			return err
		}
	}
	return nil
}
