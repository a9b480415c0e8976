package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// list is one of the three lists that may hold functions.
type list struct {
	field   string
	role    Role
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
		{field: "generators", role: Generator},
		{field: "transformers", role: Transformer},
		{field: "validators", role: Validator},
	}
}

// takeLists moves the three lists out of a layer's fields. They come back rewritten.
func (p *plan) takeLists(l *layer) ([]list, error) {
	var lists []list
	for _, li := range listFields() {
		if _, ok := l.fields[li.field]; !ok {
			continue
		}
		delete(l.fields, li.field)
		_, node := l.doc.field(li.field)
		if node == nil {
			return nil, l.doc.errorf(nil, "%s cannot be read", li.field)
		}
		var err error
		if li.entries, err = l.entries(li.field, node); err != nil {
			return nil, err
		}
		lists = append(lists, li)
	}
	return lists, nil
}

func forgetLines(n *yaml.Node) {
	n.Line = 0
	for _, c := range n.Content {
		forgetLines(c)
	}
}

func (l *layer) entries(field string, node *yaml.Node) ([]listEntry, error) {
	if isNull(node) {
		return nil, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, l.doc.errorf(node, "%s is a list, this is %s", field, describe(node))
	}
	var entries []listEntry
	for i, v := range node.Content {
		switch {
		case v.Kind == yaml.MappingNode:
			entries = append(entries, listEntry{at: v, node: v})
		case v.Kind == yaml.ScalarNode && v.ShortTag() == yaml.NodeTagString && strings.TrimSpace(v.Value) != "":
			entries = append(entries, listEntry{at: v, text: v.Value})
		default:
			return nil, l.doc.errorf(v, "%s[%d] is %s: a path, a function config or the text of one is expected", field, i, describe(v))
		}
	}
	return entries, nil
}

// source is where the configs of an entry come from: the kustomization itself, or a path.
type source struct {
	path    string // as written; empty for inline
	configs []functionConfig
}

// rewriteList classifies the entries of a list and puts the list that kustomize shall see
// back into the layer. kustomize runs inline entries first, then paths: so does this.
func (p *plan) rewriteList(ctx context.Context, l *layer, li list) error {
	var inline, paths []source
	var errs []error
	for _, e := range li.entries {
		docs, isInline, err := l.inlineDocs(e)
		var found []source
		switch {
		case err != nil:
		case isInline:
			var s source
			s, err = p.readSource(l, "", docs)
			inline = append(inline, s)
		default:
			found, err = p.readPath(ctx, l, e)
			paths = append(paths, found...)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	w := &listWriter{plan: p, layer: l, role: li.role, open: -1}
	if err := w.writeInline(inline); err != nil {
		return err
	}
	if err := w.writePaths(paths); err != nil {
		return err
	}
	raw, err := json.Marshal(w.out)
	if err != nil {
		return fmt.Errorf("writing %s: %w", li.field, err)
	}
	l.fields[li.field] = raw
	return nil
}

// inlineDocs tells whether an entry is a config and not a path, and reads it.
func (l *layer) inlineDocs(e listEntry) ([]document, bool, error) {
	if e.node != nil {
		return []document{{file: l.doc.file, node: e.node}}, true, nil
	}
	return l.doc.inlineText(e.at)
}

// inlineText tells whether a string is the text of configs and not a path, and reads it.
func (d document) inlineText(n *yaml.Node) ([]document, bool, error) {
	docs, err := parseDocuments(d.file, []byte(n.Value))
	if err != nil {
		var wrong *SyntaxError
		if strings.Contains(n.Value, "\n") && errors.As(err, &wrong) {
			return nil, false, d.errorf(n, "neither a path nor the text of a function config: %s", wrong.Msg)
		}
		return nil, false, nil
	}
	for _, doc := range docs {
		if doc.node.Kind != yaml.ScalarNode {
			for _, doc := range docs {
				shiftLines(doc.node, textStart(n))
			}
			return docs, true, nil
		}
	}
	return nil, false, nil
}

// textStart is the line before the first one of a scalar's text.
func textStart(n *yaml.Node) int {
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return n.Line
	}
	return n.Line - 1
}

func shiftLines(n *yaml.Node, by int) {
	if n.Line > 0 {
		n.Line += by
	}
	for _, c := range n.Content {
		shiftLines(c, by)
	}
}

// readSource reads the configs of some documents. Lists of things (`kind: FooList` with
// items) are taken apart as kustomize does: their items come after all else.
func (p *plan) readSource(l *layer, path string, docs []document) (source, error) {
	s := source{path: path}
	for queue := docs; len(queue) > 0; {
		d := queue[0]
		queue = queue[1:]
		items, isList, err := d.items()
		if err != nil {
			return s, err
		}
		if isList {
			queue = append(queue, items...)
			continue
		}
		c, err := readConfig(d)
		if err != nil {
			return s, err
		}
		if c.builtin {
			if err := c.checkBuiltin(p, l); err != nil {
				return s, err
			}
		}
		s.configs = append(s.configs, c)
	}
	return s, nil
}

// items takes a list of things apart: `kind: FooList` with items.
func (d document) items() (items []document, isList bool, err error) {
	_, kind := d.field("kind")
	_, list := d.field("items")
	if kind == nil || !strings.HasSuffix(kind.Value, "List") || list == nil {
		return nil, false, nil
	}
	if kind.ShortTag() != yaml.NodeTagString {
		return nil, false, d.errorf(kind, "kind has to be plain text")
	}
	if list.Kind != yaml.SequenceNode && !isNull(list) {
		return nil, true, d.errorf(list, "items of a %s is a list, this is %s", kind.Value, describe(list))
	}
	for _, item := range list.Content {
		items = append(items, document{file: d.file, node: item})
	}
	return items, true, nil
}

// readPath reads an entry that names a file or a directory.
func (p *plan) readPath(ctx context.Context, l *layer, e listEntry) ([]source, error) {
	at := l.join(e.text)
	if err := l.ownName(e.at, e.text); err != nil {
		return nil, err
	}
	if why := remoteForm(e.text); why != "" && !p.fsys.Exists(at.dir) {
		return nil, l.doc.errorf(e.at, "%s: remote function configs are not supported yet: %s", e.text, why)
	}
	if !p.fsys.Exists(at.dir) {
		return nil, l.doc.missing(e.at, e.text+": no such file or directory")
	}
	if p.fsys.IsDir(at.dir) {
		if filepath.IsAbs(e.text) {
			return nil, l.doc.errorf(e.at, "%s: the path has to be relative", e.text)
		}
		return p.configsOfDir(ctx, l, e)
	}
	real, err := p.restricted(l, e)
	if err != nil {
		return nil, err
	}
	data, err := readConfigFile(p.fsys, real, at.display)
	if err != nil {
		return nil, err
	}
	docs, err := parseDocuments(at.display, data)
	if err != nil {
		return nil, err
	}
	s, err := p.readSource(l, e.text, docs)
	return []source{s}, err
}

// restricted is kustomize's load restriction for a file of a list, which our virtual file
// in its place would slip past.
func (p *plan) restricted(l *layer, e listEntry) (string, error) {
	at := l.join(e.text)
	dir, file, err := p.fsys.CleanedAbs(at.dir)
	if err != nil {
		return "", &SyntaxError{Where: l.doc.where(e.at), Msg: e.text + " cannot be read", Err: err}
	}
	if !p.options.LoadAnywhere && !dir.HasPrefix(filesys.ConfirmedDir(l.dir)) {
		return "", l.doc.errorf(e.at, "%s is not in or below %s, and the load restrictor keeps files there", e.text, l.display)
	}
	return dir.Join(file), nil
}

// listWriter writes the list that kustomize sees.
type listWriter struct {
	plan  *plan
	layer *layer
	role  Role
	out   []string

	open int // the run that further functions join, or -1
}

// writeInline writes configs that stand in the kustomization itself.
func (w *listWriter) writeInline(sources []source) error {
	for _, s := range sources {
		docs, err := w.docs(s)
		if err != nil {
			return err
		}
		w.out = append(w.out, docs...)
	}
	w.close() // a run never crosses from inline entries to paths
	return nil
}

// writePaths writes configs that stand in files. Each file is replaced by a virtual one at
// the same place of the list.
func (w *listWriter) writePaths(sources []source) error {
	for _, s := range sources {
		docs, err := w.docs(s)
		if err != nil {
			return err
		}
		if len(docs) > 0 {
			w.out = append(w.out, w.plan.addVirtual(w.layer, docs, s))
		}
	}
	w.close()
	return nil
}

// docs prints the configs of a source, each as one line of JSON. kustomize never sees the
// user's own text: it splits documents, merges keys and tells a path from a config by rules
// that are not quite ours, and what it takes for a path it may fetch.
func (w *listWriter) docs(s source) ([]string, error) {
	var docs []string
	for _, c := range s.configs {
		var text string
		var err error
		if c.builtin {
			w.close()
			text, err = c.json()
		} else {
			text, err = w.addStep(c)
		}
		if err != nil {
			return nil, err
		}
		if text != "" {
			docs = append(docs, text)
		}
	}
	return docs, nil
}

// addStep plans a function. It joins the run that is open, where there is one: kustomize
// then sees one config for all of them, and nothing is returned for this one.
func (w *listWriter) addStep(c functionConfig) (string, error) {
	step, err := c.step(w.role, w.layer.place, w.layer.catalogs)
	if err != nil {
		return "", err
	}
	if err := step.Config.PipeE(yaml.SetAnnotation(localConfigKey, "true")); err != nil {
		return "", c.errorf(c.document.node, "its metadata cannot be read: %v", err)
	}
	p := w.plan
	i := len(p.steps)
	p.steps = append(p.steps, step)
	if w.open >= 0 && w.role != Generator && !p.single {
		p.runs[w.open] = append(p.runs[w.open], i)
		return "", nil
	}
	w.open = len(p.runs)
	p.runs = append(p.runs, []int{i})
	return stepConfig(w.open), nil
}

// close ends the run that is open.
func (w *listWriter) close() { w.open = -1 }

// addVirtual serves configs in the place of a file of the user's. Nothing of the user's own
// gets into its name: kustomize reads an entry as a config before it takes it for a path.
func (p *plan) addVirtual(l *layer, docs []string, s source) string {
	name := p.ownFile("yaml", s.path)
	p.overlay.files[filepath.Join(l.dir, name)] = []byte(strings.Join(docs, "---\n"))
	return name
}

// ownFile is a new name of a file that exists only for kustomize, in the place of original.
func (p *plan) ownFile(ending, original string) string {
	name := fmt.Sprintf("%s%d.%s", ownPrefix, len(p.names), ending)
	p.names[name] = original
	return name
}
