package starlark

import (
	"errors"
	"fmt"
	"strconv"

	"go.starlark.net/starlark"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
)

// The bounds on the input and the output of a script.
const (
	maxDepth  = 200
	maxNodes  = 2_000_000 // of one value
	maxValues = 5_000_000 // of all items
)

// converter converts YAML into Starlark values and back. It remembers the node of each dict and
// list, and uses the node again: what the script did not change keeps its style, its quotes and
// its comments.
type converter struct {
	dicts   map[*starlark.Dict]*source
	lists   map[*starlark.List]*source
	sources []source                // room for the next ones
	open    map[starlark.Value]bool // values that are being converted, below the depth of tracked
	taken   int                     // number of values made of nodes
	given   int                     // number of nodes made of values
	limit   int64                   // bytes of the strings in the output
	bytes   int64                   // of them used so far
}

// source is the node that a dict or list was made of.
type source struct {
	node *yaml.Node
	used bool // it is in the output
}

// tracked is the depth below which values that contain themselves are looked for. Such a value is
// of any depth, so that it is found, and the others cost nothing.
const tracked = maxDepth / 4

// newConverter returns a converter for an output with so many bytes of strings, and an input of so
// many items.
func newConverter(limit int64, items int) *converter {
	return &converter{
		limit: limit,
		dicts: make(map[*starlark.Dict]*source, 8*items),
		lists: make(map[*starlark.List]*source, 2*items),
		open:  map[starlark.Value]bool{},
	}
}

// source remembers a node.
func (c *converter) source(n *yaml.Node) *source {
	if len(c.sources) == 0 {
		c.sources = make([]source, 256)
	}
	s := &c.sources[0]
	c.sources = c.sources[1:]
	s.node = n
	return s
}

// resourceList returns ctx.resource_list.
func (c *converter) resourceList(in fnexec.ResourceList) (*starlark.Dict, error) {
	items := make([]starlark.Value, 0, len(in.Items))
	for i, item := range in.Items {
		v, err := c.value(item.YNode(), 0)
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		items = append(items, v)
	}
	var config starlark.Value = starlark.None
	if !yaml.IsMissingOrNull(in.FunctionConfig) {
		var err error
		// A copy: a script may use it as a resource, and the caller's config must not change.
		if config, err = c.value(yaml.CopyYNode(in.FunctionConfig.YNode()), 0); err != nil {
			return nil, fmt.Errorf("functionConfig: %w", err)
		}
	}
	d := starlark.NewDict(5)
	for _, e := range []struct {
		key   string
		value starlark.Value
	}{
		{"apiVersion", starlark.String("config.kubernetes.io/v1")},
		{"kind", starlark.String("ResourceList")},
		{"items", starlark.NewList(items)},
		{"functionConfig", config},
		{"results", starlark.NewList(nil)},
	} {
		if err := d.SetKey(starlark.String(e.key), e.value); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// items converts the resources of the output.
func (c *converter) items(rl *starlark.Dict) ([]*yaml.RNode, error) {
	v, found, err := rl.Get(starlark.String("items"))
	if err != nil || !found {
		return nil, errors.Join(err, errors.New(`resource_list["items"] is gone`))
	}
	list, ok := v.(starlark.Indexable)
	if _, text := v.(starlark.String); !ok || text {
		return nil, fmt.Errorf(`resource_list["items"] is of type %s, not a list`, v.Type())
	}
	out := make([]*yaml.RNode, 0, list.Len())
	for i := range list.Len() {
		d, ok := list.Index(i).(*starlark.Dict)
		if !ok {
			return nil, fmt.Errorf("items[%d] is of type %s, not a dict", i, list.Index(i).Type())
		}
		n, err := c.node(d, nil, 0)
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		if k, _, _ := d.Get(starlark.String("kind")); !isText(k) {
			return nil, fmt.Errorf("items[%d] has no kind", i)
		}
		out = append(out, yaml.NewRNode(n))
	}
	return out, nil
}

func isText(v starlark.Value) bool {
	s, ok := v.(starlark.String)
	return ok && s != ""
}

// results converts the results of the output; nil for none.
func (c *converter) results(rl *starlark.Dict) (*yaml.RNode, error) {
	v, found, err := rl.Get(starlark.String("results"))
	if err != nil || !found || v == starlark.None {
		return nil, err
	}
	if s, ok := v.(starlark.Sequence); ok && s.Len() == 0 {
		return nil, nil //nolint:nilnil // no results are no node
	}
	n, err := c.node(v, nil, 0)
	if err != nil {
		return nil, err
	}
	return yaml.NewRNode(n), nil
}

// value converts a node into a Starlark value.
func (c *converter) value(n *yaml.Node, depth int) (starlark.Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: it is nested more than %d deep", n.Line, maxDepth)
	}
	if c.taken++; c.taken > maxValues {
		return nil, fmt.Errorf("it holds more than %d values", maxValues)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return scalar(n)
	case yaml.SequenceNode:
		elems := make([]starlark.Value, 0, len(n.Content))
		for _, e := range n.Content {
			v, err := c.value(e, depth+1)
			if err != nil {
				return nil, err
			}
			elems = append(elems, v)
		}
		l := starlark.NewList(elems)
		c.lists[l] = c.source(n)
		return l, nil
	case yaml.MappingNode:
		return c.dict(n, depth)
	case yaml.AliasNode:
		// Parsers of this repository expand aliases. If one is left, it must be small.
		if n.Alias == nil {
			return nil, errors.New("an alias has no target")
		}
		return c.value(yaml.CopyYNode(n.Alias), depth+1) // each value has a node of its own
	case yaml.DocumentNode:
		if len(n.Content) == 1 {
			return c.value(n.Content[0], depth+1)
		}
	}
	return starlark.None, nil
}

func (c *converter) dict(n *yaml.Node, depth int) (starlark.Value, error) {
	d := starlark.NewDict(len(n.Content) / 2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: a key is not a scalar", n.Content[i].Line)
		}
		k, err := scalar(n.Content[i])
		if err != nil {
			return nil, err
		}
		v, err := c.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		had := d.Len()
		if err := d.SetKey(k, v); err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Content[i].Line, err)
		}
		if d.Len() == had {
			// 0 and 00 are two keys in YAML, and one key in a dict.
			return nil, fmt.Errorf("line %d: the key %s occurs twice, spelled differently", n.Content[i].Line, k)
		}
	}
	c.dicts[d] = c.source(n)
	return d, nil
}

// node converts a value into a node. was is the scalar at the same place in the input; nil for
// none. It is used again if it has the same value.
func (c *converter) node(v starlark.Value, was *yaml.Node, depth int) (*yaml.Node, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	if c.given++; c.given > maxValues {
		return nil, fmt.Errorf("it holds more than %d values", maxValues)
	}
	switch v := v.(type) {
	case *starlark.Dict:
		return c.enter(v, depth)
	case *starlark.List:
		return c.enter(v, depth)
	case starlark.Tuple:
		return c.sequence(v, nil, depth)
	}
	switch v := v.(type) {
	case starlark.String:
		c.bytes += int64(len(v))
	case starlark.Int:
		c.bytes += int64(bits(v)-64) / 3
	}
	if c.bytes > c.limit {
		return nil, &fnexec.OutputLimitError{Limit: c.limit}
	}
	if was != nil && unchanged(was, v) {
		return was, nil
	}
	return newScalar(v)
}

var errDeep = fmt.Errorf("it is nested more than %d deep", maxDepth)

// within adds a place to an error, unless there are too many places.
func within(place string, err error) error {
	if errors.Is(err, errDeep) {
		return err
	}
	return fmt.Errorf("%s: %w", place, err)
}

// unchanged reports whether a value is that of a scalar.
func unchanged(n *yaml.Node, v starlark.Value) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	if s, ok := v.(starlark.String); ok && n.Tag == yaml.NodeTagString {
		return n.Value == string(s)
	}
	old, err := scalar(n)
	return err == nil && same(old, v)
}

// enter converts a dict or a list, and refuses values that contain themselves.
func (c *converter) enter(v starlark.Value, depth int) (*yaml.Node, error) {
	if depth > tracked {
		if c.open[v] {
			return nil, fmt.Errorf("a %s contains itself", v.Type())
		}
		c.open[v] = true
		defer delete(c.open, v)
	}
	switch v := v.(type) {
	case *starlark.Dict:
		return c.mapping(v, depth)
	case *starlark.List:
		return c.sequence(v, c.lists[v], depth)
	}
	return nil, fmt.Errorf("a %s cannot be written as YAML", v.Type())
}

func (c *converter) mapping(d *starlark.Dict, depth int) (*yaml.Node, error) {
	src := c.dicts[d]
	if src == nil {
		src = &source{node: &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}}
	}
	out := src.again(2 * d.Len())
	for k, v := range d.Entries() {
		at := keyIndex(src.node, k, out.len)
		var wasKey, wasValue *yaml.Node
		if at >= 0 {
			wasKey, wasValue = src.node.Content[at], src.node.Content[at+1]
		}
		key, err := c.node(k, wasKey, depth+1)
		if err != nil {
			return nil, err
		}
		if key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("a key is a %s", k.Type())
		}
		value, err := c.node(v, wasValue, depth+1)
		if err != nil {
			return nil, within(key.Value, err)
		}
		out.add(key)
		out.add(value)
	}
	return out.node(), nil
}

// keyIndex returns the index of a key in a mapping's nodes. It looks at the expected index first.
func keyIndex(n *yaml.Node, k starlark.Value, expected int) int {
	is := func(key *yaml.Node) bool {
		if s, ok := k.(starlark.String); ok {
			return key.Value == string(s)
		}
		old, err := scalar(key)
		return err == nil && same(old, k)
	}
	if expected < len(n.Content) && is(n.Content[expected]) {
		return expected
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if is(n.Content[i]) {
			return i
		}
	}
	return -1
}

func (c *converter) sequence(l starlark.Indexable, src *source, depth int) (*yaml.Node, error) {
	if src == nil {
		src = &source{node: &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}}
	}
	out := src.again(l.Len())
	for i := range l.Len() {
		var was *yaml.Node
		if i < len(src.node.Content) {
			was = src.node.Content[i]
		}
		n, err := c.node(l.Index(i), was, depth+1)
		if err != nil {
			return nil, within("["+strconv.Itoa(i)+"]", err)
		}
		out.add(n)
	}
	return out.node(), nil
}
