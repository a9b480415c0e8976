package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// List returns the entries of a field that is a list; none if the field is missing.
func (d Document) List(field string) ([]*yaml.Node, error) {
	n := yamldoc.Field(d.Node, field)
	if yamldoc.IsNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, d.Errorf(n, "%s is a list, this is %s", field, yamldoc.Describe(n))
	}
	return n.Content, nil
}

// Document is a YAML document with the positions of its fields. It has no aliases, no
// merge keys and no key twice.
type Document struct {
	File string // the path as the user knows it
	Node *yaml.Node
	// Index is the number of the document in its file, from 0. As in kyaml, empty documents do not
	// count. The items of a list have that of the list.
	Index int
}

// Where returns the position of a node of the document.
func (d Document) Where(n *yaml.Node) string {
	if n == nil || n.Line == 0 {
		return d.File
	}
	return fmt.Sprintf("%s:%d", d.File, n.Line)
}

// Errorf returns an error with the position of a node.
func (d Document) Errorf(n *yaml.Node, format string, args ...any) error {
	return &SyntaxError{Where: d.Where(n), Msg: fmt.Sprintf(format, args...)}
}

// TooMuch refuses content that takes more time or memory than any real document.
func (d Document) TooMuch(n *yaml.Node, format string, args ...any) error {
	return &SyntaxError{Where: d.Where(n), Msg: fmt.Sprintf(format, args...), Kind: failure.Untrusted}
}

// Missing returns an error about a file that the document names and that does not exist.
func (d Document) Missing(n *yaml.Node, msg string) error {
	return &SyntaxError{Where: d.Where(n), Msg: msg, Kind: failure.NotFound}
}

// Field returns the value of a top-level field, by its exact name, and its key.
func (d Document) Field(name string) (key, value *yaml.Node) {
	if i := yamldoc.FieldIndex(d.Node, name); i >= 0 {
		return d.Node.Content[i], d.Node.Content[i+1]
	}
	return nil, nil
}

// ParseDocuments reads the documents of a file. They have no aliases and no cycles.
func ParseDocuments(file string, data []byte) ([]Document, error) {
	ps := yamldoc.Problems{File: file}
	nodes := yamldoc.Documents(data, &ps)
	if err := ps.First(); err != nil {
		return nil, syntaxError(err)
	}
	docs := make([]Document, 0, len(nodes))
	for i, n := range nodes {
		docs = append(docs, Document{File: file, Node: n.Content[0], Index: i})
	}
	return docs, nil
}

// SyntaxErrors converts the problems of a file to errors of this package: the first ones by line,
// and the number of the others.
func SyntaxErrors(ps *yamldoc.Problems) error {
	var some *yamldoc.Errors
	if !errors.As(ps.Err(), &some) {
		return nil
	}
	var errs []error
	for _, one := range some.List {
		errs = append(errs, syntaxError(one))
	}
	if some.More > 0 {
		errs = append(errs, &SyntaxError{Where: ps.File, Msg: fmt.Sprintf("and %d more", some.More)})
	}
	return errors.Join(errs...)
}

// syntaxError converts a problem of a text to an error of this package.
func syntaxError(err error) error {
	var wrong *yamldoc.Error
	if !errors.As(err, &wrong) {
		return err
	}
	e := &SyntaxError{Where: wrong.File, Msg: wrong.Text()}
	if wrong.Line > 0 {
		e.Where = fmt.Sprintf("%s:%d", wrong.File, wrong.Line)
	}
	if wrong.Bomb {
		e.Kind = failure.Untrusted
	}
	return e
}

// FieldsOf decodes the document as kustomize would, into JSON values by field name as
// written: merge keys and aliases are resolved.
func FieldsOf(file string, data []byte) (map[string]json.RawMessage, error) {
	j, err := k8syaml.YAMLToJSON(data)
	if err != nil {
		return nil, &SyntaxError{Where: file, Msg: "not valid YAML", Err: err}
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(j, &m); err != nil {
		return nil, &SyntaxError{Where: file, Msg: "a mapping is expected at the top"}
	}
	return m, nil
}

// IsText reports whether a node is a string.
func IsText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagString
}

// IsConfigText reports whether a string is the text of a function config and not a path.
func (d Document) IsConfigText(n *yaml.Node) bool {
	_, inline, err := d.InlineText(n)
	return inline || err != nil
}

// ForgetLines removes the positions of a node and of everything below it.
func ForgetLines(n *yaml.Node) {
	n.Line = 0
	for _, c := range n.Content {
		ForgetLines(c)
	}
}

// InlineText reads a string that is the text of configs, and reports whether it is one and not
// a path.
func (d Document) InlineText(n *yaml.Node) ([]Document, bool, error) {
	docs, err := ParseDocuments(d.File, []byte(n.Value))
	if err != nil {
		var wrong *SyntaxError
		if strings.Contains(n.Value, "\n") && errors.As(err, &wrong) {
			return nil, false, &SyntaxError{Where: d.Where(n), Msg: "neither a path nor the text of a function config: " + wrong.Msg, Kind: wrong.Kind}
		}
		return nil, false, nil
	}
	if len(docs) == 0 { // comments, or null: kustomize does not read it as a path
		return nil, true, nil
	}
	for _, doc := range docs {
		if doc.Node.Kind != yaml.ScalarNode {
			for _, doc := range docs {
				ShiftLines(doc.Node, TextStart(n))
			}
			return docs, true, nil
		}
	}
	return nil, false, nil
}

// TextStart returns the line before the first line of a scalar's text.
func TextStart(n *yaml.Node) int {
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return n.Line
	}
	return n.Line - 1
}

// ShiftLines adds a number of lines to the positions of a node and of everything below it.
func ShiftLines(n *yaml.Node, by int) {
	if n.Line > 0 {
		n.Line += by
	}
	for _, c := range n.Content {
		ShiftLines(c, by)
	}
}

// SaysSomething reports whether a document is not null, an empty mapping or an empty list, which
// kustomize ignores between resources.
func (d Document) SaysSomething() bool {
	if d.Node.Kind == yaml.ScalarNode {
		return !yamldoc.IsNull(d.Node)
	}
	return len(d.Node.Content) > 0
}

// Expand replaces lists by their items, as kustomize does: the items come after everything else.
func Expand(docs []Document) ([]Document, error) {
	var all []Document
	var errs []error
	for queue := docs; len(queue) > 0; {
		d := queue[0]
		queue = queue[1:]
		items, isList, err := d.Items()
		errs = append(errs, err)
		if isList {
			queue = append(queue, items...)
		} else if err == nil {
			all = append(all, d)
		}
	}
	return all, errors.Join(errs...)
}

// Items returns the items of a document that is a list: `kind: FooList` with items.
func (d Document) Items() (items []Document, isList bool, err error) {
	_, kind := d.Field("kind")
	_, list := d.Field("items")
	if kind == nil || !strings.HasSuffix(kind.Value, "List") || list == nil {
		return nil, false, nil
	}
	if kind.ShortTag() != yaml.NodeTagString {
		return nil, false, d.Errorf(kind, "kind has to be plain text")
	}
	if list.Kind != yaml.SequenceNode && !yamldoc.IsNull(list) {
		return nil, true, d.Errorf(list, "items of a %s is a list, this is %s", kind.Value, yamldoc.Describe(list))
	}
	for _, item := range list.Content {
		items = append(items, Document{File: d.File, Node: item, Index: d.Index})
	}
	return items, true, nil
}

// ScalarIn returns the scalar with a value below a node, for its line.
func ScalarIn(n *yaml.Node, value string) *yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode && (n.Value == value || strings.HasSuffix(n.Value, "="+value)) {
		return n
	}
	for _, c := range n.Content {
		if found := ScalarIn(c, value); found != nil && found.Kind == yaml.ScalarNode && strings.HasSuffix(found.Value, value) {
			return found
		}
	}
	if n.Kind == yaml.ScalarNode {
		return nil
	}
	return n
}

// WellFormed refuses metadata of a shape that kustomize and kyaml cannot read.
func (d Document) WellFormed() error {
	_, meta := d.Field("metadata")
	if yamldoc.IsNull(meta) {
		return nil
	}
	if meta.Kind != yaml.MappingNode {
		return d.Errorf(meta, "metadata is a mapping, this is %s", yamldoc.Describe(meta))
	}
	for _, name := range []string{"name", "namespace"} {
		if v := yamldoc.Field(meta, name); v != nil && v.Kind != yaml.ScalarNode {
			return d.Errorf(v, "metadata.%s is a name, this is %s", name, yamldoc.Describe(v))
		}
	}
	for _, name := range []string{"labels", "annotations"} {
		m := yamldoc.Field(meta, name)
		if yamldoc.IsNull(m) {
			continue
		}
		if m.Kind != yaml.MappingNode {
			return d.Errorf(m, "metadata.%s is a mapping, this is %s", name, yamldoc.Describe(m))
		}
		for i := 1; i < len(m.Content); i += 2 {
			if m.Content[i].Kind != yaml.ScalarNode {
				return d.Errorf(m.Content[i], "metadata.%s.%s is text, this is %s", name, m.Content[i-1].Value, yamldoc.Describe(m.Content[i]))
			}
		}
	}
	return nil
}
