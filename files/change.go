package files

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/files/internal/edit"
	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// wanted is a resource that is to be written.
type wanted struct {
	node *yaml.Node // without aliases, and without the annotations of the wire
	id   identity
	at   spot
	wide bool      // lists are to be indented
	from *document // the document that it becomes; nil for a new one
	in   *file     // the file of from
	text []byte    // of the document
}

// Change returns what the files have to become for these resources, which are not changed. A
// resource belongs to the document that its annotations path and index name, current or legacy
// ones. One whose document is called differently belongs to the one document of its own name that
// no other resource takes: it was moved. A document that no resource belongs to is removed, and its
// file if nothing else is in it. A resource without a path gets [namespace/]kind_name.yaml.
//
// Errors: *PlaceError for a path that is refused, failure.Function for what is no resource, and for
// two resources of one path and index.
func (t *Tree) Change(items []*yaml.RNode) (*Change, error) {
	m := &matcher{tree: t, has: map[spot]int{}, spots: map[spot]*wanted{}}
	for _, f := range t.files {
		for i := range f.docs {
			if d := &f.docs[i]; d.resource {
				m.has[spot{f.path, d.index}] = len(m.docs)
				m.docs = append(m.docs, known{f, d, identityOf(d.flat)})
			}
		}
	}
	for i, item := range items {
		if err := m.add(i, item); err != nil {
			return nil, err
		}
	}
	m.match()
	if err := m.place(); err != nil {
		return nil, err
	}
	if err := m.edit(); err != nil {
		return nil, err
	}
	return t.assemble(m)
}

// matcher finds the documents of resources.
type matcher struct {
	tree  *Tree
	has   map[spot]int // the index in docs of each resource that was read
	docs  []known
	taken []bool // of docs
	spots map[spot]*wanted
	items []*wanted
}

// known is a resource that was read.
type known struct {
	file *file
	doc  *document
	id   identity
}

// add takes one resource.
func (m *matcher) add(number int, item *yaml.RNode) error {
	n := item.YNode()
	if n == nil || n.Kind != yaml.MappingNode || annotation.Text(n, "apiVersion") == "" || annotation.Text(n, "kind") == "" {
		return failure.Function.Mark(fmt.Errorf("item %d is not a resource: it has no apiVersion or no kind", number+1))
	}
	w := &wanted{node: edit.Copy(n)}
	if err := yamldoc.Flatten(w.node); err != nil {
		return failure.Function.Mark(fmt.Errorf("%s: %w", nameOf(n), err))
	}
	at, err := m.tree.spotOf(w.node, m.has)
	if err != nil {
		return err
	}
	w.at, w.id = at, identityOf(w.node)
	w.wide = annotation.Text(annotation.Of(w.node), annotation.SeqIndent) == string(yaml.WideSequenceStyle)
	if at.index >= 0 && at.path != "" {
		if o := m.spots[at]; o != nil {
			return failure.Function.Mark(fmt.Errorf("%s and %s have the same path %q and index %d", nameOf(o.node), nameOf(w.node), at.path, at.index))
		}
		m.spots[at] = w
	}
	m.items = append(m.items, w)
	return nil
}

// match finds the documents: first those that are where the resource says and are called like it,
// then those that are called like it and nothing else is, then those that are where it says.
func (m *matcher) match() {
	m.taken = make([]bool, len(m.docs))
	take := func(w *wanted, i int) {
		m.taken[i] = true
		w.from, w.in = m.docs[i].doc, m.docs[i].file
	}
	for _, w := range m.items {
		if i, ok := m.has[w.at]; ok && m.docs[i].id == w.id {
			take(w, i)
		}
	}
	called := map[identity][]int{}
	for i, d := range m.docs {
		if !m.taken[i] {
			called[d.id] = append(called[d.id], i)
		}
	}
	wanting := map[identity]int{}
	for _, w := range m.items {
		if w.from == nil {
			wanting[w.id]++
		}
	}
	for _, w := range m.items {
		if list := called[w.id]; w.from == nil && w.at.path != "" && len(list) == 1 && wanting[w.id] == 1 {
			take(w, list[0])
		}
	}
	for _, w := range m.items {
		if i, ok := m.has[w.at]; ok && w.from == nil && !m.taken[i] {
			take(w, i)
		}
	}
}

// place gives a path to each resource that has none, and checks those of new files.
func (m *matcher) place() error {
	root, err := os.OpenRoot(m.tree.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	read := map[string]bool{}
	for _, f := range m.tree.files {
		read[f.path] = true
	}
	for _, w := range m.items {
		if w.at.path == "" {
			w.at.path = annotation.DefaultPath(w.node)
			if why := refused(w.at.path); why != "" {
				return placeError(w.node, w.at.path, why)
			}
		}
		if read[w.at.path] {
			continue
		}
		why, err := m.tree.mayMake(root, m.tree.ignores, w.at.path)
		if err != nil {
			return err
		}
		if why != "" {
			return placeError(w.node, w.at.path, why)
		}
		read[w.at.path] = true
	}
	return nil
}

// edit makes the text of each resource.
func (m *matcher) edit() error {
	errs := make([]error, len(m.items))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, w := range m.items {
		g.Go(func() error {
			errs[i] = w.edit()
			return errs[i]
		})
	}
	if g.Wait() == nil {
		return nil
	}
	return errs[slices.IndexFunc(errs, func(err error) bool { return err != nil })]
}

func (w *wanted) edit() error {
	json := isJSON(w.at.path)
	var err error
	switch {
	case w.from != nil && isJSON(w.in.path) == json:
		restore(w.node, w.from.flat)
		w.text, err = edit.Edit(edit.Doc{
			Text: w.in.data[w.from.start:w.from.end], Source: w.from.source, Flat: w.from.flat, JSON: json,
		}, w.node)
	case json:
		restore(w.node, nil)
		w.text = edit.PrintJSON(w.node)
	default:
		restore(w.node, nil)
		w.text, err = edit.Print(w.node, w.wide)
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", w.at.path, nameOf(w.node), err)
	}
	return nil
}

func isJSON(path string) bool { return strings.HasSuffix(path, ".json") }

func metadataOf(item *yaml.Node) *yaml.Node { return yamldoc.Field(item, "metadata") }

// restore removes the annotations of the wire from a resource, but for those that its document has
// itself. It leaves no empty annotations or metadata behind that the document does not have.
func restore(n, was *yaml.Node) {
	a := annotation.Of(n)
	if a == nil {
		return
	}
	wasMeta := yamldoc.Field(was, "metadata")
	wasOnes := yamldoc.Field(wasMeta, "annotations")
	var kept []*yaml.Node
	for i := 0; i+1 < len(a.Content); i += 2 {
		if !annotation.Is(a.Content[i].Value) {
			kept = append(kept, a.Content[i], a.Content[i+1])
		}
	}
	if wasOnes != nil && wasOnes.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(wasOnes.Content); i += 2 {
			if annotation.Is(wasOnes.Content[i].Value) {
				kept = append(kept, wasOnes.Content[i], wasOnes.Content[i+1])
			}
		}
	}
	if a.Content = kept; len(kept) > 0 {
		return
	}
	meta := metadataOf(n)
	putBack(meta, "annotations", wasOnes)
	if len(meta.Content) == 0 {
		putBack(n, "metadata", wasMeta)
	}
}

// putBack replaces an empty mapping by what the document has there, if that is empty too, and
// removes it otherwise.
func putBack(m *yaml.Node, key string, was *yaml.Node) {
	if was == nil || len(was.Content) > 0 {
		annotation.Remove(m, key)
		return
	}
	m.Content[yamldoc.FieldIndex(m, key)+1] = was
}
