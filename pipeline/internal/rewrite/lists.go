package rewrite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// list is one of the three lists that may contain functions.
type list struct {
	field   string
	role    fnconfig.Role
	entries []listEntry
}

// listEntry is one element of a list, as the user wrote it.
type listEntry struct {
	at   *yaml.Node
	text string     // if it is a string
	node *yaml.Node // if it is a mapping
}

// listFields returns the lists in the order in which kustomize runs them.
func listFields() []list {
	return []list{
		{field: "generators", role: fnconfig.Generator},
		{field: "transformers", role: fnconfig.Transformer},
		{field: "validators", role: fnconfig.Validator},
	}
}

// takeLists removes the three lists from the fields of a kustomization and returns them. They are
// written again later.
func (p *plan) takeLists(k *kustomization) ([]list, error) {
	var lists []list
	for _, li := range listFields() {
		raw, ok := k.fields[li.field]
		if !ok {
			continue
		}
		delete(k.fields, li.field)
		_, node := k.doc.Field(li.field)
		if node == nil || !sameTexts(raw, node) {
			return nil, k.doc.Errorf(node, "%s is ambiguous: write it once, and without merge keys (<<)", li.field)
		}
		var err error
		if li.entries, err = p.entries(k, li.field, node); err != nil {
			return nil, err
		}
		lists = append(lists, li)
	}
	return lists, nil
}

// sameTexts reports whether a list as kustomize reads it contains the same texts as its node, which
// has the lines.
func sameTexts(raw json.RawMessage, node *yaml.Node) bool {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || node.Kind != yaml.SequenceNode {
		return true // entries reports it
	}
	if len(list) != len(node.Content) {
		return false
	}
	for i, n := range node.Content {
		var text string
		if source.IsText(n) && (json.Unmarshal(list[i], &text) != nil || text != n.Value) {
			return false
		}
	}
	return true
}

// entries returns the entries of a list without empty ones, which kustomize ignores.
func (p *plan) entries(k *kustomization, field string, node *yaml.Node) ([]listEntry, error) {
	if yamldoc.IsNull(node) {
		return nil, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, k.doc.Errorf(node, "%s is a list, this is %s", field, yamldoc.Describe(node))
	}
	var entries []listEntry
	for i, v := range node.Content {
		switch {
		case v.Kind == yaml.MappingNode:
			entries = append(entries, listEntry{at: v, node: v})
		case yamldoc.IsNull(v) || source.IsText(v) && strings.TrimSpace(v.Value) == "":
			p.Warn(k.doc.Where(v), fmt.Sprintf("%s[%d] is empty: nothing is run for it, as in kustomize", field, i))
		case source.IsText(v):
			entries = append(entries, listEntry{at: v, text: v.Value})
		default:
			return nil, k.doc.Errorf(v, "%s[%d] is %s: a path, a function config or the text of one is expected", field, i, yamldoc.Describe(v))
		}
	}
	return entries, nil
}

// listSource is the origin of the configs of an entry: the kustomization itself, or a path.
type listSource struct {
	path    string       // the path as written; empty if inline
	at      source.Place // the directory to which the paths of a Composition are relative
	root    source.Place // the same for the configs of builtins and of functions
	configs []listed
}

// listed is one config of a list: that of a function or a builtin, or a whole Composition. For a
// Composition, only Config.Document is set in Config.
type listed struct {
	fnconfig.Config
	root        source.Place // the directory to which its paths are relative
	composition *composition.Resolved
}

// runsSomething reports whether at least one of the configs makes something run.
func (s listSource) runsSomething() bool {
	return slices.ContainsFunc(s.configs, func(c listed) bool { return c.composition == nil || len(c.composition.List) > 0 })
}

// rewriteList reads the entries of a list and writes the list that kustomize will see. Inline
// entries come first and then paths, because kustomize runs them in this order.
func (p *plan) rewriteList(ctx context.Context, k *kustomization, li list) error {
	var inline, paths []listSource
	var errs []error
	for _, e := range li.entries {
		docs, root, isInline, err := p.inlineDocs(k, e)
		found, where := make([]listSource, 1), k.doc.Where(e.at)
		switch {
		case err != nil:
		case isInline:
			found[0], err = p.readSource(ctx, k, listSource{at: root, root: root}, docs)
			inline = append(inline, found...)
		default:
			found, err = p.readPath(ctx, k, e)
			paths = append(paths, found...)
			where = p.refIn(k, e.text).Place().Display
		}
		if left := p.LeaveOut(err); err != nil && left == nil {
			continue
		}
		if err == nil && !slices.ContainsFunc(found, listSource.runsSomething) {
			p.Warn(where, "there is no function config here: nothing is run for it, as in kustomize")
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	w := &listWriter{plan: p, kustomization: k, components: k.components, role: li.role}
	if li.role != fnconfig.Generator {
		// The fields of this Component change its resources before this list does.
		k.components.last().full = true
	}
	return errors.Join(w.write(ctx, inline), w.write(ctx, paths))
}

// inlineDocs reads an entry that is a config and not a path; inline is false for a path. root is
// the directory to which the paths in the config are relative.
func (p *plan) inlineDocs(k *kustomization, e listEntry) (docs []source.Document, root source.Place, inline bool, err error) {
	d, at, root := k.doc, e.at, k.Place
	if f, virtual := p.ref(k, e.text); virtual && f.Text.Node != nil {
		d, at, root = f.Text, yaml.NewRNode(f.Text.Node).Copy().YNode(), f.At
	}
	if at.Kind == yaml.MappingNode && len(at.Content) == 0 {
		return nil, root, true, d.Errorf(at, "a function config needs a kind")
	}
	if at.Kind == yaml.MappingNode {
		return []source.Document{{File: d.File, Node: at}}, root, true, nil
	}
	docs, inline, err = d.InlineText(at)
	return docs, root, inline, err
}

// readSource reads the configs of documents. A list (`kind: FooList` with items) is replaced by its
// items, as in kustomize.
func (p *plan) readSource(ctx context.Context, k *kustomization, s listSource, docs []source.Document) (listSource, error) {
	docs, err := source.Expand(docs)
	if err != nil {
		return s, err
	}
	for _, d := range docs {
		if !d.SaysSomething() {
			continue
		}
		c, err := p.readListed(ctx, k, s, d)
		if err != nil {
			return s, err
		}
		s.configs = append(s.configs, c)
	}
	return s, nil
}

// readListed reads one config of a list: that of a function or of a builtin, or a whole
// Composition.
func (p *plan) readListed(ctx context.Context, k *kustomization, s listSource, d source.Document) (listed, error) {
	if d.IsComposition() {
		c, err := p.DecodeComposition(s.at, d)
		if err != nil {
			return listed{}, err
		}
		resolved, err := p.ResolveImports(ctx, c)
		if err == nil && s.path == "" {
			resolved.AddCatalogs(k.catalogs) // no other kustomization uses this Composition
		}
		return listed{Config: fnconfig.Config{Document: d}, composition: resolved}, err
	}
	c, err := fnconfig.ReadConfig(d)
	switch {
	case err != nil:
	case c.ID.Kind == fnconfig.HelmGenerator && c.Builtin && k.inline:
		err = c.Errorf(c.Document.Node, "%s: in a Composition, a chart is a transformer of its own, and not one of a Kustomization", fnconfig.HelmGenerator)
	case c.Builtin && k.inline:
		err = p.CheckConfig(c, s.root)
	case c.Builtin:
		err = p.checkBuiltin(k, c)
	}
	return listed{Config: c, root: s.root}, err
}

// readPath reads an entry that names a file or a directory.
func (p *plan) readPath(ctx context.Context, k *kustomization, e listEntry) ([]listSource, error) {
	f := p.refIn(k, e.text)
	f.Where = k.doc.Where(e.at)
	if _, virtual := p.ref(k, e.text); !virtual {
		if err := source.OwnName(f.Where, e.text); err != nil {
			return nil, err
		}
	}
	at := f.Place()
	if err := p.NotRemote(f, "remote function configs are not supported yet"); err != nil {
		return nil, err
	}
	if !p.FS.Exists(at.Dir) {
		return nil, f.Missing()
	}
	if p.FS.IsDir(at.Dir) {
		if filepath.IsAbs(f.Written) {
			return nil, f.Errorf("%s: the path has to be relative", f.Written)
		}
		return p.readDir(ctx, k, f)
	}
	if name := filepath.Base(at.Dir); slices.Contains(source.CompositionNames(), name) {
		return p.readComposed(ctx, f, at.Join(".."), name)
	}
	docs, dir, err := p.Documents(f)
	if err != nil {
		return nil, err
	}
	s, err := p.readSource(ctx, k, listSource{path: f.Written, at: dir, root: f.At}, docs)
	return []listSource{s}, err
}

// readDir reads an entry that names the directory of a Composition, or of a kustomization whose
// resources are function configs.
func (p *plan) readDir(ctx context.Context, k *kustomization, f source.FileRef) ([]listSource, error) {
	real, err := source.ConfirmDir(p.FS, f.Place().Dir)
	if err != nil {
		return nil, err
	}
	at := source.Place{Dir: real, Display: f.Place().Display}
	switch name, err := source.CompositionIn(p.FS, at); {
	case err != nil:
		return nil, err
	case name != "":
		return p.readComposed(ctx, f, at, name)
	}
	return p.configsOfDir(ctx, k, f, at)
}

// readComposed reads an entry that names a Composition by its directory or by its file. A
// Composition may be in any directory, even one where the load restrictor forbids other files.
func (p *plan) readComposed(ctx context.Context, f source.FileRef, at source.Place, name string) ([]listSource, error) {
	real, err := source.ConfirmDir(p.FS, at.Dir)
	if err != nil {
		return nil, err
	}
	at.Dir = real
	resolved, err := p.Resolve(ctx, at, name)
	if err != nil {
		return nil, err
	}
	return []listSource{{path: f.Written, at: at, configs: []listed{{Config: fnconfig.Config{Document: resolved.Of.Doc}, composition: resolved}}}}, nil
}
