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
	// evaluated is set for a directory: kustomize cannot read the configs from there.
	evaluated bool
}

// rewriteList classifies the entries of a list and puts the list that kustomize shall see
// back into the layer. kustomize runs inline entries first, then paths: so does this.
func (p *plan) rewriteList(ctx context.Context, l *layer, li list) error {
	var inline, paths []source
	for _, e := range li.entries {
		docs, isInline, err := l.inlineDocs(e)
		if err != nil {
			return err
		}
		if isInline {
			s, err := p.readSource("", docs)
			if err != nil {
				return err
			}
			inline = append(inline, s)
			continue
		}
		s, err := p.readPath(ctx, l, e)
		if err != nil {
			return err
		}
		paths = append(paths, s...)
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
	docs, err := parseDocuments(l.doc.file, []byte(e.text))
	if err != nil {
		var wrong *SyntaxError
		if strings.Contains(e.text, "\n") && errors.As(err, &wrong) {
			return nil, false, l.doc.errorf(e.at, "neither a path nor the text of a function config: %s", wrong.Msg)
		}
		return nil, false, nil
	}
	for _, d := range docs {
		if d.node.Kind != yaml.ScalarNode {
			shiftLines(d.node, textStart(e.at))
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
func (p *plan) readSource(path string, docs []document) (source, error) {
	s := source{path: path}
	for queue := docs; len(queue) > 0; {
		d := queue[0]
		queue = queue[1:]
		_, kind := d.field("kind")
		_, items := d.field("items")
		if kind != nil && strings.HasSuffix(kind.Value, "List") && items != nil {
			if items.Kind != yaml.SequenceNode && !isNull(items) {
				return s, d.errorf(items, "items of a %s is a list, this is %s", kind.Value, describe(items))
			}
			for _, item := range items.Content {
				queue = append(queue, document{file: d.file, node: item})
			}
			continue
		}
		c, err := readConfig(d)
		if err != nil {
			return s, err
		}
		if c.builtin {
			if err := c.checkBuiltin(p); err != nil {
				return s, err
			}
		}
		s.configs = append(s.configs, c)
	}
	return s, nil
}

// readPath reads an entry that names a file or a directory.
func (p *plan) readPath(ctx context.Context, l *layer, e listEntry) ([]source, error) {
	at := l.join(e.text)
	if why := remoteForm(e.text); why != "" && !p.fsys.Exists(at.dir) {
		return nil, l.doc.errorf(e.at, "%s: remote function configs are not supported yet: %s", e.text, why)
	}
	if !p.fsys.Exists(at.dir) {
		return nil, l.doc.missing(e.at, e.text+": no such file or directory")
	}
	if p.fsys.IsDir(at.dir) {
		return p.configsOfDir(ctx, l, e)
	}
	real, err := p.restricted(l, e)
	if err != nil {
		return nil, err
	}
	data, err := p.fsys.ReadFile(real)
	if err != nil {
		return nil, &SyntaxError{Where: l.doc.where(e.at), Msg: e.text + " cannot be read", Err: err}
	}
	docs, err := parseDocuments(at.display, data)
	if err != nil {
		return nil, err
	}
	s, err := p.readSource(e.text, docs)
	if err != nil {
		return nil, err
	}
	// What was planned is what kustomize reads, even if the file changes meanwhile.
	if _, planned := p.overlay.files[real]; !planned {
		p.overlay.files[real] = data
		p.overlay.files[filepath.Clean(at.dir)] = data
	}
	return []source{s}, nil
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
		for _, c := range s.configs {
			if c.builtin {
				w.close()
				text, err := c.text()
				if err != nil {
					return err
				}
				w.out = append(w.out, text)
				continue
			}
			text, err := w.addStep(c)
			if err != nil {
				return err
			}
			if text != "" {
				w.out = append(w.out, text)
			}
		}
	}
	w.close() // a run never crosses from inline entries to paths
	return nil
}

// writePaths writes configs that stand in files. A file with functions is replaced by a
// virtual one at the same place of the list; others stay what they are.
func (w *listWriter) writePaths(sources []source) error {
	for _, s := range sources {
		if s.path != "" && !s.evaluated && !s.hasFunctions() {
			w.close()
			w.out = append(w.out, s.path)
			continue
		}
		var docs []string
		for _, c := range s.configs {
			if c.builtin {
				w.close()
				text, err := c.text()
				if err != nil {
					return err
				}
				docs = append(docs, text)
				continue
			}
			text, err := w.addStep(c)
			if err != nil {
				return err
			}
			if text != "" {
				docs = append(docs, text)
			}
		}
		if len(docs) > 0 {
			w.out = append(w.out, w.plan.addVirtual(w.layer, docs, s))
		}
	}
	w.close()
	return nil
}

func (s source) hasFunctions() bool {
	for _, c := range s.configs {
		if !c.builtin {
			return true
		}
	}
	return false
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
	if p.single {
		if step.origin, err = takeOrigin(step.Config); err != nil {
			return "", err
		}
	}
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

// addVirtual serves configs in the place of a file of the user's.
func (p *plan) addVirtual(l *layer, docs []string, s source) string {
	name := fmt.Sprintf(".krmcat-%d-%s", len(p.names), filepath.Base(s.path))
	p.overlay.files[filepath.Join(l.dir, name)] = []byte(strings.Join(docs, "---\n"))
	p.names[name] = s.path
	return name
}

// text prints a config for kustomize, with a name if it has none: kustomize wants one
// even where nothing reads it.
func (c functionConfig) text() (string, error) {
	if c.node.GetName() == "" {
		if err := c.node.SetName(c.name); err != nil {
			return "", c.errorf(c.document.node, "its metadata cannot be read: %v", err)
		}
	}
	text, err := c.node.String()
	if err != nil {
		return "", c.errorf(c.document.node, "it cannot be printed: %v", err)
	}
	return text, nil
}
