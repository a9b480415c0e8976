package openapi

import (
	"fmt"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	maxNodes = 1 << 20 // of a schema or a functionConfig, with its aliases written out
	maxDepth = 256
)

// reader turns nodes into the values that JSON has, and notes the line of each field.
type reader struct {
	left  int
	lines map[string]int // by path; nil where nobody asks
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

func (r *reader) value(n *yaml.Node, path string, depth int) (any, error) {
	if r.left--; r.left < 0 {
		return nil, fmt.Errorf("line %d: too large", n.Line)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: nested more than %d levels deep", n.Line, maxDepth)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, path, depth+1)
	case yaml.DocumentNode:
		if len(n.Content) == 1 {
			return r.value(n.Content[0], path, depth+1)
		}
	case yaml.MappingNode:
		return r.mapping(n, path, depth)
	case yaml.SequenceNode:
		return r.list(n, path, depth)
	}
	return scalar(n)
}

func (r *reader) mapping(n *yaml.Node, path string, depth int) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.ShortTag() == yaml.MergeTag {
			return nil, fmt.Errorf("line %d: the key of a field must be text", k.Line)
		}
		at := path
		if r.lines != nil {
			at = join(path, k.Value)
			r.lines[at] = k.Line
		}
		v, err := r.value(n.Content[i+1], at, depth+1)
		if err != nil {
			return nil, err
		}
		out[k.Value] = v
	}
	return out, nil
}

func (r *reader) list(n *yaml.Node, path string, depth int) (any, error) {
	out := make([]any, 0, len(n.Content))
	for i, c := range n.Content {
		at := path
		if r.lines != nil {
			at = path + "[" + strconv.Itoa(i) + "]"
			r.lines[at] = c.Line
		}
		v, err := r.value(c, at, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// scalar reads numbers and booleans; all else, dates too, is text.
func scalar(n *yaml.Node) (any, error) {
	var into any
	switch n.ShortTag() {
	case yaml.NodeTagNull:
		return nil, nil //nolint:nilnil // null is a value
	case yaml.NodeTagBool:
		into = new(bool)
	case yaml.NodeTagInt:
		into = new(int64)
	case yaml.NodeTagFloat:
		into = new(float64)
	default:
		return n.Value, nil
	}
	if err := n.Decode(into); err != nil {
		return nil, fmt.Errorf("line %d: the value is not the %s it looks like", n.Line, n.ShortTag()[2:])
	}
	switch v := into.(type) {
	case *bool:
		return *v, nil
	case *int64:
		return *v, nil
	case *float64:
		return *v, nil
	}
	return n.Value, nil
}
