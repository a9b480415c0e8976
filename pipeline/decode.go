package pipeline

import (
	"encoding/json"
	"fmt"
	"sort"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

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
	return &SyntaxError{Where: d.where(n), Msg: fmt.Sprintf(format, args...), bomb: true}
}

// missing refuses to go on without a file that the document names.
func (d document) missing(n *yaml.Node, msg string) error {
	return &SyntaxError{Where: d.where(n), Msg: msg, missing: true}
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
		if first == nil || p.Bomb && !first.bomb {
			first = &SyntaxError{Where: fmt.Sprintf("%s:%d", file, p.Line), Msg: p.Msg, bomb: p.Bomb}
		}
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

// firstDocument reads a file as kustomize reads a kustomization: the first document and no
// other, and of fields that are written twice the last.
func (p *plan) firstDocument(file string, data []byte) (document, error) {
	var first *SyntaxError
	var again []yamldoc.Problem
	n, more := yamldoc.First(data, func(p yamldoc.Problem) {
		if first == nil || p.Bomb && !first.bomb {
			first = &SyntaxError{Where: fmt.Sprintf("%s:%d", file, p.Line), Msg: p.Msg, bomb: p.Bomb}
		}
	}, func(p yamldoc.Problem) { again = append(again, p) })
	switch {
	case first != nil:
		return document{}, first
	case n == nil && more:
		return document{}, &SyntaxError{Where: file, Msg: "its first document is empty, and kustomize reads no other"}
	case n == nil:
		return document{}, &SyntaxError{Where: file, Msg: "it is empty"}
	}
	for _, one := range again {
		p.warn(fmt.Sprintf("%s:%d", file, one.Line), one.Msg+": the last one holds, as in kustomize")
	}
	if more {
		p.warn(file, "more stands behind its first document: it is not read, as in kustomize")
	}
	return document{file: file, node: n}, nil
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

// sortedKeys gives a map's keys in a fixed order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
