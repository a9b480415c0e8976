package openapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// list merges a list of the patch into one of the base.
func (m *merger) list(base, patch *yaml.Node, s shape) error {
	how := m.schemas.merging(s)
	empty := len(base.Content) == 0
	replaced := slices.ContainsFunc(patch.Content, replacesList)
	if !replaced && len(how.keys) > 0 {
		err := m.keyed(base, patch, how.keys, m.schemas.items(s))
		restyle(base, patch, empty)
		return err
	}
	if i := slices.IndexFunc(patch.Content, deletes); i >= 0 && !replaced {
		m.at = m.at.Item(i)
		return m.wrong("the item says $patch: delete, and the schema has no merge keys for the list to tell which one is meant")
	}
	if !replaced && how.union {
		err := m.union(base, patch)
		restyle(base, patch, empty)
		return err
	}
	*base = *emptied(patch)
	return m.fill(base, patch)
}

// fill appends the items of the patch to a list that they are not merged with, without nulls and
// directives. It does not look at keys: the result must not depend on the schema.
func (m *merger) fill(base, patch *yaml.Node) error {
	for i, item := range patch.Content {
		if replacesList(item) {
			continue
		}
		m.at = m.at.Item(i)
		merged, err := m.value(nil, item, nil)
		if err != nil {
			return err
		}
		m.at = m.at.Up()
		if merged != nil {
			base.Content = append(base.Content, merged)
		}
	}
	return nil
}

// union appends the values of the patch that base does not have.
func (m *merger) union(base, patch *yaml.Node) error {
	seen := make(map[string]bool, len(base.Content))
	for _, item := range base.Content {
		seen[identity(item)] = true
	}
	added := emptied(patch)
	if err := m.fill(added, patch); err != nil {
		return err
	}
	for _, item := range added.Content {
		if id := identity(item); !seen[id] {
			seen[id] = true
			base.Content = append(base.Content, item)
		}
	}
	return nil
}

// keyed merges the items that have the same values of all keys.
func (m *merger) keyed(base, patch *yaml.Node, keys []string, items shape) error {
	by := mergeKeys{names: keys, defaults: make([]*yaml.Node, len(keys))}
	for i, key := range keys {
		by.defaults[i] = m.schemas.defaultOf(m.schemas.field(items, key))
	}
	_, at, err := m.identities(base, "base", by)
	if err != nil {
		return err
	}
	ids, _, err := m.identities(patch, "patch", by)
	if err != nil {
		return err
	}
	for i, item := range patch.Content {
		var old *yaml.Node
		j, found := at[ids[i]]
		if found {
			old = base.Content[j]
		}
		m.at = m.at.Item(i)
		merged, err := m.value(old, item, items)
		if err != nil {
			return err
		}
		m.at = m.at.Up()
		if found {
			base.Content[j] = merged
		} else {
			base.Content = append(base.Content, merged)
		}
	}
	base.Content = slices.DeleteFunc(base.Content, func(n *yaml.Node) bool { return n == nil })
	return nil
}

// mergeKeys are the fields that identify the items of a list, and their defaults in the schema: nil
// for none.
type mergeKeys struct {
	names    []string
	defaults []*yaml.Node
}

// identities returns for every item of a list the values of its keys as one text, and for every
// such text the index of the item.
func (m *merger) identities(list *yaml.Node, whose string, by mergeKeys) (ids []string, at map[string]int, err error) {
	at = make(map[string]int, len(list.Content))
	for i, item := range list.Content {
		m.at = m.at.Item(i)
		if item.Kind != yaml.MappingNode {
			return nil, nil, m.wrong("the item of the %s is not a mapping, so it has none of the merge keys %s", whose, quoteAll(by.names))
		}
		var id strings.Builder
		for k, name := range by.names {
			v := yamldoc.Field(item, name)
			if v == nil || yamldoc.IsNull(v) {
				v = by.defaults[k]
			}
			switch {
			case v == nil:
				return nil, nil, m.wrong("the item of the %s has no value for the merge key %s, and the schema no default", whose, yamldoc.Quote(name))
			case v.Kind != yaml.ScalarNode:
				return nil, nil, m.wrong("the merge key %s of the item of the %s is %s", yamldoc.Quote(name), whose, yamldoc.Describe(v))
			}
			writeIdentity(&id, v)
		}
		first, twice := at[id.String()]
		if twice {
			return nil, nil, m.wrong("items %d and %d of the %s have the same %s, which is to tell them apart", first, i, whose, quoteAll(by.names))
		}
		ids, at[id.String()] = append(ids, id.String()), i
		m.at = m.at.Up()
	}
	return ids, at, nil
}

// identity returns a text that is the same for two values exactly if they mean the same.
func identity(n *yaml.Node) string {
	var b strings.Builder
	writeIdentity(&b, n)
	return b.String()
}

func writeIdentity(b *strings.Builder, n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		order := make([]int, 0, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			order = append(order, i)
		}
		slices.SortFunc(order, func(i, j int) int { return strings.Compare(n.Content[i].Value, n.Content[j].Value) })
		b.WriteString("{")
		for _, i := range order {
			b.WriteString(strconv.Quote(n.Content[i].Value))
			writeIdentity(b, n.Content[i+1])
		}
		b.WriteString("}")
	case yaml.SequenceNode:
		b.WriteString("[")
		for _, item := range n.Content {
			writeIdentity(b, item)
		}
		b.WriteString("]")
	default:
		b.WriteString(n.ShortTag())
		b.WriteString(strconv.Quote(plainValue(n)))
	}
}

// plainValue returns the value of a scalar in one of its many spellings: 0x50 is 80.
func plainValue(n *yaml.Node) string {
	switch n.ShortTag() {
	case yaml.NodeTagInt, yaml.NodeTagFloat, yaml.NodeTagBool:
		var v any
		if err := n.Decode(&v); err == nil {
			return fmt.Sprint(v)
		}
	case yaml.NodeTagNull:
		return ""
	}
	return n.Value
}
