package starlark

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
)

// The bounds on what a script returns.
const (
	maxDepth = 200
	maxNodes = 2_000_000
)

// converter turns YAML into Starlark values and back. It remembers which node a dict or
// a list was made of, and uses that node again: whatever the script did not touch keeps
// its style, its quotes and its comments.
type converter struct {
	dicts map[*starlark.Dict]*yaml.Node
	lists map[*starlark.List]*yaml.Node
	used  map[*yaml.Node]bool     // given back already
	open  map[starlark.Value]bool // being given back
	count int
}

func newConverter() *converter {
	return &converter{
		dicts: map[*starlark.Dict]*yaml.Node{},
		lists: map[*starlark.List]*yaml.Node{},
		used:  map[*yaml.Node]bool{},
		open:  map[starlark.Value]bool{},
	}
}

// resourceList makes ctx.resource_list.
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
		// A copy: a script may make a resource of it, and the caller's stays as it is.
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

// items takes the resources back.
func (c *converter) items(rl *starlark.Dict) ([]*yaml.RNode, error) {
	v, found, err := rl.Get(starlark.String("items"))
	if err != nil || !found {
		return nil, errors.Join(err, errors.New(`resource_list["items"] is gone`))
	}
	list, ok := v.(starlark.Indexable)
	if _, text := v.(starlark.String); !ok || text {
		return nil, fmt.Errorf(`resource_list["items"] is a %s, not a list`, v.Type())
	}
	out := make([]*yaml.RNode, 0, list.Len())
	for i := range list.Len() {
		d, ok := list.Index(i).(*starlark.Dict)
		if !ok {
			return nil, fmt.Errorf("items[%d] is a %s, not a dict", i, list.Index(i).Type())
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

// results takes the results back, nil for none.
func (c *converter) results(rl *starlark.Dict) (*yaml.RNode, error) {
	v, found, err := rl.Get(starlark.String("results"))
	if err != nil || !found || v == starlark.None {
		return nil, err
	}
	if s, ok := v.(starlark.Sequence); ok && s.Len() == 0 {
		return nil, nil
	}
	n, err := c.node(v, nil, 0)
	if err != nil {
		return nil, err
	}
	return yaml.NewRNode(n), nil
}

// value makes a Starlark value of a node.
func (c *converter) value(n *yaml.Node, depth int) (starlark.Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: it is nested more than %d deep", n.Line, maxDepth)
	}
	if c.count++; c.count > maxNodes {
		return nil, fmt.Errorf("it holds more than %d values", maxNodes)
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
		c.lists[l] = n
		return l, nil
	case yaml.MappingNode:
		return c.dict(n, depth)
	case yaml.AliasNode:
		// Those who parse for us resolve aliases. Where one is left, it has to be small.
		if n.Alias == nil {
			return nil, errors.New("an alias stands for nothing")
		}
		return c.value(n.Alias, depth+1)
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
		if err := d.SetKey(k, v); err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Content[i].Line, err)
		}
	}
	c.dicts[d] = n
	return d, nil
}

// scalar makes a Starlark value of a scalar. What YAML has and Starlark has not is its
// text.
func scalar(n *yaml.Node) (starlark.Value, error) {
	switch n.ShortTag() {
	case yaml.NodeTagNull:
		return starlark.None, nil
	case yaml.NodeTagBool:
		var b bool
		if err := n.Decode(&b); err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Line, err)
		}
		return starlark.Bool(b), nil
	case yaml.NodeTagInt:
		return integer(n)
	case yaml.NodeTagFloat:
		var f float64
		if err := n.Decode(&f); err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Line, err)
		}
		return starlark.Float(f), nil
	}
	return starlark.String(n.Value), nil
}

func integer(n *yaml.Node) (starlark.Value, error) {
	if v := n.Value; len(v) < 10 && (v == "0" || v != "" && v[0] >= '1' && v[0] <= '9') {
		if i, err := strconv.Atoi(v); err == nil {
			return starlark.MakeInt(i), nil
		}
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, fmt.Errorf("line %d: %w", n.Line, err)
	}
	switch v := v.(type) {
	case int:
		return starlark.MakeInt(v), nil
	case int64:
		return starlark.MakeInt64(v), nil
	case uint64:
		return starlark.MakeUint64(v), nil
	}
	if b, ok := new(big.Int).SetString(n.Value, 0); ok && len(n.Value) < 1000 {
		return starlark.MakeBigInt(b), nil
	}
	return starlark.String(n.Value), nil
}

// node makes a node of a value. was is the scalar that stood in the same place, nil for
// none: it is used again if it says the same.
func (c *converter) node(v starlark.Value, was *yaml.Node, depth int) (*yaml.Node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	if c.count++; c.count > 2*maxNodes {
		return nil, fmt.Errorf("it holds more than %d values", maxNodes)
	}
	switch v := v.(type) {
	case *starlark.Dict:
		return c.enter(v, func() (*yaml.Node, error) { return c.mapping(v, depth) })
	case *starlark.List:
		return c.enter(v, func() (*yaml.Node, error) { return c.sequence(v, c.lists[v], depth) })
	case starlark.Tuple:
		return c.sequence(v, nil, depth)
	}
	if was != nil && was.Kind == yaml.ScalarNode {
		if old, err := scalar(was); err == nil && same(old, v) {
			return was, nil
		}
	}
	return newScalar(v)
}

// enter guards against values that contain themselves.
func (c *converter) enter(v starlark.Value, f func() (*yaml.Node, error)) (*yaml.Node, error) {
	if c.open[v] {
		return nil, fmt.Errorf("a %s contains itself", v.Type())
	}
	c.open[v] = true
	defer delete(c.open, v)
	return f()
}

func (c *converter) mapping(d *starlark.Dict, depth int) (*yaml.Node, error) {
	src := c.dicts[d]
	if src == nil {
		src = &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	}
	content := make([]*yaml.Node, 0, 2*d.Len())
	for k, v := range d.Entries() {
		at := keyIndex(src, k, len(content))
		var wasKey, wasValue *yaml.Node
		if at >= 0 {
			wasKey, wasValue = src.Content[at], src.Content[at+1]
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
			return nil, fmt.Errorf("%s: %w", key.Value, err)
		}
		content = append(content, key, value)
	}
	return c.again(src, content), nil
}

// keyIndex finds a key among a mapping's nodes, where it was expected first.
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

func (c *converter) sequence(l starlark.Indexable, src *yaml.Node, depth int) (*yaml.Node, error) {
	if src == nil {
		src = &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
	}
	content := make([]*yaml.Node, 0, l.Len())
	for i := range l.Len() {
		var was *yaml.Node
		if i < len(src.Content) {
			was = src.Content[i]
		}
		n, err := c.node(l.Index(i), was, depth+1)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		content = append(content, n)
	}
	return c.again(src, content), nil
}

// again returns the node that a value was made of if nothing in it changed, else one
// like it. A value that stands in two places gives two nodes: nodes are edited.
func (c *converter) again(src *yaml.Node, content []*yaml.Node) *yaml.Node {
	if c.used[src] {
		n := *src
		n.Content = content
		for i, e := range content {
			// What is in it was used before too: lists and dicts are new ones by now.
			if e.Kind == yaml.ScalarNode {
				scalar := *e
				content[i] = &scalar
			}
		}
		return &n
	}
	c.used[src] = true
	if len(content) == len(src.Content) {
		changed := false
		for i := range content {
			changed = changed || content[i] != src.Content[i]
		}
		if !changed {
			return src
		}
	}
	n := *src
	if len(src.Content) == 0 {
		n.Style &^= yaml.FlowStyle // it was {} or []
	}
	n.Content = content
	return &n
}

// same tells whether two scalars are the same value of the same type.
func same(a, b starlark.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	eq, err := starlark.Equal(a, b)
	return err == nil && eq
}

func newScalar(v starlark.Value) (*yaml.Node, error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagNull, Value: "null"}, nil
	case starlark.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagBool, Value: strconv.FormatBool(bool(v))}, nil
	case starlark.Int:
		return newInt(v), nil
	case starlark.Float:
		f := float64(v)
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, errors.New("a float is not a finite number")
		}
		s := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagFloat, Value: s}, nil
	case starlark.String:
		return newText(string(v))
	}
	return nil, fmt.Errorf("a %s cannot be written as YAML", v.Type())
}

// newInt makes an integer's node. The printer writes a tag before those that it takes for
// floats itself, which are those beyond 64 bits.
func newInt(v starlark.Int) *yaml.Node {
	tag := yaml.NodeTagInt
	if _, signed := v.Int64(); !signed {
		if _, unsigned := v.Uint64(); !unsigned {
			tag = yaml.NodeTagFloat
		}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: v.String()}
}

// newText makes a string node, quoted where a reader of YAML 1.1 would take it for
// something else.
func newText(s string) (*yaml.Node, error) {
	if !utf8.ValidString(s) {
		return nil, errors.New("a string is not UTF-8")
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: s}
	if ambiguous(s) && yaml.IsValueNonString(s) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n, nil
}

// ambiguous says cheaply what may be a number, a date or a word with a meaning, so that
// only that has to be parsed.
func ambiguous(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, r := range s {
		if !strings.ContainsRune("+-.:_~=<", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != ' ' {
			return false
		}
	}
	return strings.IndexByte("yYnNtTfFoO~.+-=<0123456789", s[0]) >= 0
}
