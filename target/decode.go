package target

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"
)

// maxFile bounds every kustomization, Composition and function config that is read.
const maxFile = 16 << 20

// document is a YAML mapping with the positions of its fields.
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

// missing refuses to go on without a file that the document names.
func (d document) missing(n *yaml.Node, msg string) error {
	return &SyntaxError{Where: d.where(n), Msg: msg, missing: true}
}

// bomb refuses a document that would take more memory or stack than any real one.
func (d document) bomb(n *yaml.Node, msg string) error {
	return &SyntaxError{Where: d.where(n), Msg: msg, bomb: true}
}

// field returns the value of a top-level field, by its exact name, and its key.
func (d document) field(name string) (key, value *yaml.Node) {
	return lookup(d.node, name)
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

// parseDocuments splits a file into its documents. Every mapping of them has unique keys,
// and aliases are bounded.
func parseDocuments(file string, data []byte) ([]document, error) {
	if len(data) > maxFile {
		return nil, &SyntaxError{Where: file, Msg: fmt.Sprintf("larger than %d MiB", maxFile>>20)}
	}
	var docs []document
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, yamlError(file, err)
		}
		if yaml.IsYNodeEmptyDoc(&n) || len(n.Content) == 0 || isNull(n.Content[0]) {
			continue
		}
		d := document{file: file, node: n.Content[0]}
		if err := d.check(); err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == yaml.NodeTagNull }

// yamlError gives a parser's error the form file:line: message.
func yamlError(file string, err error) error {
	msg := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "yaml: ")
	where := file
	var line int
	if n, _ := fmt.Sscanf(msg, "line %d:", &line); n == 1 {
		where = fmt.Sprintf("%s:%d", file, line)
		_, msg, _ = strings.Cut(msg, ": ")
	}
	return &SyntaxError{Where: where, Msg: "not valid YAML: " + msg}
}

// maxNodes bounds what a document may grow to once its aliases are replaced.
const maxNodes = 2_000_000

// check refuses duplicate keys and documents that grow beyond bounds.
func (d document) check() error {
	size := map[*yaml.Node]int{}
	var walk func(n *yaml.Node, depth int) (int, error)
	walk = func(n *yaml.Node, depth int) (int, error) {
		if depth > 1000 {
			return 0, d.bomb(n, "it is nested deeper than 1000 levels")
		}
		if n.Kind == yaml.AliasNode {
			s, known := size[n.Alias]
			if !known {
				return 0, d.bomb(n, "the alias *"+n.Value+" stands inside its own anchor")
			}
			return s, nil
		}
		if n.Kind == yaml.MappingNode {
			if err := d.uniqueKeys(n); err != nil {
				return 0, err
			}
		}
		total := 1
		for _, c := range n.Content {
			s, err := walk(c, depth+1)
			if err != nil {
				return 0, err
			}
			if total += s; total > maxNodes {
				return 0, d.bomb(n, fmt.Sprintf("it grows beyond %d values once its aliases are replaced", maxNodes))
			}
		}
		size[n] = total
		return total, nil
	}
	_, err := walk(d.node, 0)
	return err
}

func (d document) uniqueKeys(m *yaml.Node) error {
	seen := make(map[string]int, len(m.Content)/2)
	for i := 0; i+1 < len(m.Content); i += 2 {
		k := m.Content[i]
		if k.Kind != yaml.ScalarNode || k.Value == "<<" {
			continue
		}
		if line, dup := seen[k.Value]; dup {
			return d.errorf(k, "the key %q stands twice (first on line %d)", k.Value, line)
		}
		seen[k.Value] = k.Line
	}
	return nil
}

// fields decodes the document as kustomize would, into JSON values by field name as
// written: merge keys and aliases are resolved.
func fieldsOf(file string, data []byte) (map[string]json.RawMessage, error) {
	j, err := k8syaml.YAMLToJSON(data)
	if err != nil {
		return nil, yamlError(file, err)
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

// nearest is the candidate that is spelled most like name, or "" if none is close.
func nearest(name string, candidates []string) string {
	best, bestDistance := "", len(name)/2+1
	for _, c := range candidates {
		if d := editDistance(strings.ToLower(name), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
