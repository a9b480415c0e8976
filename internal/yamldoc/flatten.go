package yamldoc

import (
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// The bounds. They are far beyond what people write.
const (
	maxDepth   = 500     // levels of nesting
	copiedBase = 100_000 // values that aliases of a small text may add
	copiedPart = 4       // and of a large one: a value for so many bytes of it
	copiedTree = 1 << 20 // and of one whose size is not known
)

// room returns how many values aliases may add to a text of so many bytes.
func room(bytes int) int { return copiedBase + bytes/copiedPart }

// Flatten makes a parsed tree safe to walk, in place: it replaces aliases and merge keys by what
// they refer to. The error is an *Error.
func Flatten(n *yaml.Node) error { return flatten(n, copiedTree) }

// FlattenText is Flatten for a tree that was read from a text of so many bytes: its aliases may
// stand for less.
func FlattenText(n *yaml.Node, bytes int) error { return flatten(n, room(bytes)) }

func flatten(n *yaml.Node, room int) error {
	var ps Problems
	f := &flattener{ps: &ps, room: room}
	f.walk(n, 0)
	return ps.First()
}

// flattener replaces aliases by copies, in one walk, and checks the keys of every mapping. The
// parser does not expand aliases, so an alias bomb would expand here.
type flattener struct {
	ps      *Problems
	again   *Problems           // of fields that are written again and win; nil where none may be
	room    int                 // number of values that may still be copied
	active  map[*yaml.Node]bool // the anchored nodes that enclose the current one
	stopped bool
}

// stop ends the walk at a bomb.
func (f *flattener) stop(line int, format string, args ...any) {
	if !f.stopped {
		f.ps.addBomb(line, format, args...)
	}
	f.stopped = true
}

func (f *flattener) walk(n *yaml.Node, depth int) {
	if depth > maxDepth {
		f.stop(n.Line, "nested more than %d levels deep", maxDepth)
		return
	}
	if n.Anchor != "" {
		n.Anchor = "" // nothing refers to it any more, once it is printed again
		if f.active == nil {
			f.active = map[*yaml.Node]bool{}
		}
		f.active[n] = true
		defer delete(f.active, n)
	}
	for i, c := range n.Content {
		if f.stopped {
			return
		}
		if c.Kind == yaml.AliasNode {
			n.Content[i] = f.resolve(c, depth+1)
			continue
		}
		f.walk(c, depth+1)
	}
	if n.Kind == yaml.MappingNode && !f.stopped {
		f.mapping(n)
	}
}

// resolve returns a copy of the target of an alias. The walk has passed the target, so it has no
// aliases itself, unless it encloses this one.
func (f *flattener) resolve(alias *yaml.Node, depth int) *yaml.Node {
	if alias.Alias == nil || f.active[alias.Alias] {
		f.stop(alias.Line, "the alias %s stands inside its own anchor", Quote(alias.Value))
		return alias
	}
	c := f.copy(alias.Alias, alias, depth)
	c.HeadComment, c.LineComment, c.FootComment = alias.HeadComment, alias.LineComment, alias.FootComment
	return c
}

func (f *flattener) copy(n, alias *yaml.Node, depth int) *yaml.Node {
	c := *n
	c.Content = nil
	if f.room--; f.room < 0 {
		f.stop(alias.Line, "its aliases stand for too much")
	}
	if depth > maxDepth {
		f.stop(alias.Line, "nested more than %d levels deep", maxDepth)
	}
	if f.stopped {
		return &c
	}
	if len(n.Content) > 0 {
		c.Content = make([]*yaml.Node, 0, min(len(n.Content), f.room+1))
	}
	for _, child := range n.Content {
		if f.stopped {
			break
		}
		c.Content = append(c.Content, f.copy(child, alias, depth+1))
	}
	return &c
}

// mapping refuses keys that two readers could read differently, and resolves merge keys.
func (f *flattener) mapping(n *yaml.Node) {
	const few = 16
	var seen map[string]*yaml.Node
	if len(n.Content) > 2*few {
		seen = make(map[string]*yaml.Node, len(n.Content)/2)
	}
	var merges []int
	again := f.again
	if again == nil {
		again = f.ps
	}
	repeated := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			f.ps.Add(k.Line, "the key of a field must be text, not %s", Describe(k))
		case !plainKey(k):
			f.ps.Add(k.Line, "the key %s has the tag %s: keys are written plainly", Quote(k.Value), k.ShortTag())
		case k.ShortTag() == yaml.MergeTag:
			if merges = append(merges, i); len(merges) > 1 {
				again.Add(k.Line, "a mapping has two merge keys (<<)")
			}
		default:
			if first := earlier(n, i, seen); first != nil {
				again.Add(k.Line, "the field %s is written twice, first in line %d", Quote(k.Value), first.Line)
				repeated = true
			}
		}
	}
	for _, at := range slices.Backward(merges) { // a later one wins
		f.merge(n, at)
	}
	if repeated {
		keepLast(n)
	}
}

// keepLast removes all but the last of the fields of one name.
func keepLast(n *yaml.Node) {
	last := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		last[n.Content[i].Value] = i
	}
	kept := n.Content[:0:0]
	for i := 0; i+1 < len(n.Content); i += 2 {
		if last[n.Content[i].Value] == i {
			kept = append(kept, n.Content[i], n.Content[i+1])
		}
	}
	n.Content = kept
}

// plainKey reports whether a key means what is written: of others, two readers could find different
// fields.
func plainKey(k *yaml.Node) bool {
	switch k.ShortTag() {
	case yaml.NodeTagString, yaml.NodeTagInt, yaml.NodeTagFloat, yaml.NodeTagBool, yaml.NodeTagNull, yaml.MergeTag, "!!timestamp":
		return true
	}
	return false
}

// earlier returns the key before i with the same name: from seen, which it fills, if there are many
// keys, or else by a search.
func earlier(n *yaml.Node, i int, seen map[string]*yaml.Node) *yaml.Node {
	k := n.Content[i]
	if seen != nil {
		first := seen[k.Value]
		if first == nil {
			seen[k.Value] = k
		}
		return first
	}
	for j := 0; j < i; j += 2 {
		if o := n.Content[j]; o.Kind == yaml.ScalarNode && o.Value == k.Value {
			return o
		}
	}
	return nil
}

// merge adds the fields of a merge key to the mapping. The fields of the mapping itself win, then
// those of the earlier source.
func (f *flattener) merge(n *yaml.Node, at int) {
	key, value := n.Content[at], n.Content[at+1]
	sources := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		sources = value.Content
	}
	n.Content = append(n.Content[:at:at], n.Content[at+2:]...)
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		seen[n.Content[i].Value] = true
	}
	for _, s := range sources {
		if s.Kind != yaml.MappingNode {
			f.ps.Add(key.Line, "what is merged (<<) is not a mapping")
			continue
		}
		for i := 0; i+1 < len(s.Content); i += 2 {
			if k := s.Content[i]; !seen[k.Value] {
				seen[k.Value] = true
				n.Content = append(n.Content, k, s.Content[i+1])
			}
		}
	}
}
