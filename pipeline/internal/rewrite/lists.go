package rewrite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// list is one of the three lists that may hold functions.
type list struct {
	field   string
	role    fnconfig.Role
	entries []listEntry
}

// listEntry is one element of a list, as written.
type listEntry struct {
	at   *yaml.Node
	text string // for a string
	node *yaml.Node
}

// listFields are the lists in the order in which kustomize runs them.
func listFields() []list {
	return []list{
		{field: "generators", role: fnconfig.Generator},
		{field: "transformers", role: fnconfig.Transformer},
		{field: "validators", role: fnconfig.Validator},
	}
}

// takeLists moves the three lists out of a layer's fields. They come back rewritten.
func (p *plan) takeLists(l *layer) ([]list, error) {
	var lists []list
	for _, li := range listFields() {
		raw, ok := l.fields[li.field]
		if !ok {
			continue
		}
		delete(l.fields, li.field)
		_, node := l.doc.Field(li.field)
		if node == nil || !readAlike(raw, node) {
			return nil, l.doc.Errorf(node, "%s cannot be read in one way only: write it once, and without merge keys (<<)", li.field)
		}
		var err error
		if li.entries, err = p.entries(l, li.field, node); err != nil {
			return nil, err
		}
		lists = append(lists, li)
	}
	return lists, nil
}

// readAlike tells whether a list of what kustomize reads and its node, which has the lines,
// hold the same texts.
func readAlike(raw json.RawMessage, node *yaml.Node) bool {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || node.Kind != yaml.SequenceNode {
		return true // entries says what is wrong with it
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

// entries reads a list. What is empty in it kustomize passes over.
func (p *plan) entries(l *layer, field string, node *yaml.Node) ([]listEntry, error) {
	if yamldoc.IsNull(node) {
		return nil, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, l.doc.Errorf(node, "%s is a list, this is %s", field, yamldoc.Describe(node))
	}
	var entries []listEntry
	for i, v := range node.Content {
		switch {
		case v.Kind == yaml.MappingNode:
			entries = append(entries, listEntry{at: v, node: v})
		case yamldoc.IsNull(v) || source.IsText(v) && strings.TrimSpace(v.Value) == "":
			p.Warn(l.doc.Where(v), fmt.Sprintf("%s[%d] is empty: nothing is run for it, as in kustomize", field, i))
		case source.IsText(v):
			entries = append(entries, listEntry{at: v, text: v.Value})
		default:
			return nil, l.doc.Errorf(v, "%s[%d] is %s: a path, a function config or the text of one is expected", field, i, yamldoc.Describe(v))
		}
	}
	return entries, nil
}

// listSource is where the configs of an entry come from: the kustomization itself, or a path.
type listSource struct {
	path    string       // as written; empty for inline
	at      source.Place // the directory that the paths of a Composition are relative to
	root    source.Place // the same for the configs of kustomize and of functions
	configs []listed
}

// listed is one config of a list: that of a function or of a builtin, or a whole Composition, of
// which nothing but the document is set.
type listed struct {
	fnconfig.Config
	root        source.Place // what its relative paths are relative to
	composition *composition.Resolved
}

// declares tells whether there is a config in it that something is run for.
func (s listSource) declares() bool {
	return slices.ContainsFunc(s.configs, func(c listed) bool { return c.composition == nil || len(c.composition.List) > 0 })
}

// rewriteList classifies the entries of a list and puts the list that kustomize shall see
// back into the layer. kustomize runs inline entries first, then paths: so does this.
func (p *plan) rewriteList(ctx context.Context, l *layer, li list) error {
	var inline, paths []listSource
	var errs []error
	for _, e := range li.entries {
		docs, root, isInline, err := p.inlineDocs(l, e)
		found, where := make([]listSource, 1), l.doc.Where(e.at)
		switch {
		case err != nil:
		case isInline:
			found[0], err = p.readSource(ctx, l, listSource{at: root, root: root}, docs)
			inline = append(inline, found...)
		default:
			found, err = p.readPath(ctx, l, e)
			paths = append(paths, found...)
			where = p.refIn(l, e.text).Place().Display
		}
		if left := p.LeaveOut(err); err != nil && left == nil {
			continue
		}
		if err == nil && !slices.ContainsFunc(found, listSource.declares) {
			p.Warn(where, "no function config stands here: nothing is run for it, as in kustomize")
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	w := &listWriter{plan: p, layer: l, sheet: l.sheet, role: li.role}
	if li.role != fnconfig.Generator {
		l.sheet.last().full = true // its fields change resources too, before this list does
	}
	return errors.Join(w.write(ctx, inline), w.write(ctx, paths))
}

// inlineDocs tells whether an entry is a config and not a path, and reads it. root is what
// its paths are relative to.
func (p *plan) inlineDocs(l *layer, e listEntry) (docs []source.Document, root source.Place, inline bool, err error) {
	d, at, root := l.doc, e.at, l.Place
	if f, ours := p.ref(l, e.text); ours && f.Text.Node != nil {
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

// readSource reads the configs of some documents. Lists of things (`kind: FooList` with
// items) are taken apart as kustomize does: their items come after all else.
func (p *plan) readSource(ctx context.Context, l *layer, s listSource, docs []source.Document) (listSource, error) {
	for queue := docs; len(queue) > 0; {
		d := queue[0]
		queue = queue[1:]
		if !d.SaysSomething() {
			continue
		}
		items, isList, err := d.Items()
		if err != nil {
			return s, err
		}
		if isList {
			queue = append(queue, items...)
			continue
		}
		c, err := p.readListed(ctx, l, s, d)
		if err != nil {
			return s, err
		}
		s.configs = append(s.configs, c)
	}
	return s, nil
}

// readListed reads one config of a list: that of a function or of a builtin, or a whole
// Composition.
func (p *plan) readListed(ctx context.Context, l *layer, s listSource, d source.Document) (listed, error) {
	if d.IsComposition() {
		c, err := p.DecodeComposition(s.at, d)
		if err != nil {
			return listed{}, err
		}
		line, err := p.ResolveImports(ctx, c)
		if err == nil && s.path == "" {
			line.AddCatalogs(l.catalogs) // it is part of the layer, and of no other
		}
		return listed{Config: fnconfig.Config{Document: d}, composition: line}, err
	}
	c, err := fnconfig.ReadConfig(d)
	switch {
	case err != nil:
	case c.ID.Kind == fnconfig.HelmGenerator && c.Builtin && l.inline:
		err = c.Errorf(c.Document.Node, "%s: in a Composition, a chart is a transformer of its own, and not one of a Kustomization", fnconfig.HelmGenerator)
	case c.Builtin && l.inline:
		err = p.CheckConfig(c, s.root)
	case c.Builtin:
		err = p.checkBuiltin(l, c)
	}
	return listed{Config: c, root: s.root}, err
}

// readPath reads an entry that names a file or a directory.
func (p *plan) readPath(ctx context.Context, l *layer, e listEntry) ([]listSource, error) {
	f := p.refIn(l, e.text)
	f.Where = l.doc.Where(e.at)
	if _, ours := p.ref(l, e.text); !ours {
		if err := source.OwnName(f.Where, e.text); err != nil {
			return nil, err
		}
	}
	at := f.Place()
	if why := source.RemoteForm(f.Written); why != "" && !p.FS.Exists(at.Dir) {
		return nil, f.Errorf("%s: remote function configs are not supported yet: %s", f.Written, why)
	}
	if !p.FS.Exists(at.Dir) {
		return nil, f.Missing()
	}
	if p.FS.IsDir(at.Dir) {
		if filepath.IsAbs(f.Written) {
			return nil, f.Errorf("%s: the path has to be relative", f.Written)
		}
		return p.readDir(ctx, l, f)
	}
	if name := filepath.Base(at.Dir); slices.Contains(source.CompositionNames(), name) {
		return p.readComposed(ctx, f, at.Join(".."), name)
	}
	real, err := p.Confine(f)
	if err != nil {
		return nil, err
	}
	data, err := source.ReadConfigFile(p.FS, real, at.Display)
	if err != nil {
		return nil, err
	}
	docs, err := source.ParseDocuments(at.Display, data)
	if err != nil {
		return nil, err
	}
	dir := source.Place{Dir: filepath.Dir(real), Display: filepath.Dir(at.Display)}
	s, err := p.readSource(ctx, l, listSource{path: f.Written, at: dir, root: f.At}, docs)
	return []listSource{s}, err
}

// readDir reads an entry that names a directory: of a Composition, or of a kustomization
// whose resources are function configs.
func (p *plan) readDir(ctx context.Context, l *layer, f source.FileRef) ([]listSource, error) {
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
	return p.configsOfDir(ctx, l, f, at)
}

// readComposed reads an entry that names a Composition, by its directory or by its file: as
// everywhere, it may lie where the load restrictor lets no other file be read.
func (p *plan) readComposed(ctx context.Context, f source.FileRef, at source.Place, name string) ([]listSource, error) {
	real, err := source.ConfirmDir(p.FS, at.Dir)
	if err != nil {
		return nil, err
	}
	at.Dir = real
	line, err := p.Resolve(ctx, at, name)
	if err != nil {
		return nil, err
	}
	return []listSource{{path: f.Written, at: at, configs: []listed{{Config: fnconfig.Config{Document: line.Of.Doc}, composition: line}}}}, nil
}
