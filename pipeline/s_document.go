package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"
)

// list gives the entries of a field that is a list; none where it is not there.
func (d document) list(field string) ([]*yaml.Node, error) {
	n := valueOf(d.node, field)
	if n == nil || isNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, d.errorf(n, "%s is a list, this is %s", field, describe(n))
	}
	return n.Content, nil
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		return "a single value"
	case yaml.MappingNode:
		return "a mapping"
	}
	return "something else"
}

// document is a YAML document with the positions of its fields. It has no aliases, no
// merge keys and no key twice.
type document struct {
	file string // as a person names it
	node *yaml.Node
}

// where is the position of a node of the document.
func (d document) where(n *yaml.Node) string {
	if n == nil || n.Line == 0 {
		return d.file
	}
	return fmt.Sprintf("%s:%d", d.file, n.Line)
}

func (d document) errorf(n *yaml.Node, format string, args ...any) error {
	return &SyntaxError{Where: d.where(n), Msg: fmt.Sprintf(format, args...)}
}

// tooMuch refuses what would take more time or memory than any real document.
func (d document) tooMuch(n *yaml.Node, format string, args ...any) error {
	return &SyntaxError{Where: d.where(n), Msg: fmt.Sprintf(format, args...), Kind: failure.Untrusted}
}

// missing refuses to go on without a file that the document names.
func (d document) missing(n *yaml.Node, msg string) error {
	return &SyntaxError{Where: d.where(n), Msg: msg, Kind: failure.NotFound}
}

// field returns the value of a top-level field, by its exact name, and its key.
func (d document) field(name string) (key, value *yaml.Node) {
	return lookup(d.node, name)
}

// valueOf gives a field's value, nil where it is not there.
func valueOf(m *yaml.Node, name string) *yaml.Node {
	_, value := lookup(m, name)
	return value
}

func lookup(m *yaml.Node, name string) (key, value *yaml.Node) {
	if m == nil || m.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i], m.Content[i+1]
		}
	}
	return nil, nil
}

// parseDocuments reads the documents of a file. What comes back can be walked safely.
func parseDocuments(file string, data []byte) ([]document, error) {
	var first *SyntaxError
	nodes := yamldoc.Documents(data, func(p yamldoc.Problem) {
		first = worse(first, file, p)
	})
	if first != nil {
		return nil, first
	}
	docs := make([]document, 0, len(nodes))
	for _, n := range nodes {
		docs = append(docs, document{file: file, node: n.Content[0]})
	}
	return docs, nil
}

// worse is the first problem of a file, or one that is more than a slip.
func worse(first *SyntaxError, file string, p yamldoc.Problem) *SyntaxError {
	if first != nil && (!p.Bomb || first.Kind != "") {
		return first
	}
	e := &SyntaxError{Where: fmt.Sprintf("%s:%d", file, p.Line), Msg: p.Msg}
	if p.Bomb {
		e.Kind = failure.Untrusted
	}
	return e
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagNull }

// fieldsOf decodes the document as kustomize would, into JSON values by field name as
// written: merge keys and aliases are resolved.
func fieldsOf(file string, data []byte) (map[string]json.RawMessage, error) {
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

func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagString
}

// isConfigText tells the text of a function config from its path.
func (d document) isConfigText(n *yaml.Node) bool {
	_, inline, err := d.inlineText(n)
	return inline || err != nil
}

// findKey finds the first key of a name, at any depth.
func findKey(n *yaml.Node, name string) *yaml.Node {
	if key, _ := lookup(n, name); key != nil {
		return key
	}
	for _, c := range n.Content {
		if key := findKey(c, name); key != nil {
			return key
		}
	}
	return nil
}

func forgetLines(n *yaml.Node) {
	n.Line = 0
	for _, c := range n.Content {
		forgetLines(c)
	}
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
	if len(docs) == 0 { // comments, or null: kustomize does not take it for a path
		return nil, true, nil
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

func clearLines(n *yaml.Node) {
	n.Line = 0
	for _, c := range n.Content {
		clearLines(c)
	}
}

// saysSomething tells a document that is neither null nor a mapping or list with nothing in
// it: kustomize passes over those between resources.
func (d document) saysSomething() bool {
	if d.node.Kind == yaml.ScalarNode {
		return !isNull(d.node)
	}
	return len(d.node.Content) > 0
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

// scalarIn finds the scalar with a value below a node, to point at its line.
func scalarIn(n *yaml.Node, value string) *yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode && (n.Value == value || strings.HasSuffix(n.Value, "="+value)) {
		return n
	}
	for _, c := range n.Content {
		if found := scalarIn(c, value); found != nil && found.Kind == yaml.ScalarNode && strings.HasSuffix(found.Value, value) {
			return found
		}
	}
	if n.Kind == yaml.ScalarNode {
		return nil
	}
	return n
}
