package fnexec

import (
	"fmt"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// The annotations between orchestrator and function. Each has a legacy name that old functions
// read and write.
const (
	idKey          = annotation.ID
	legacyIDKey    = annotation.LegacyID
	pathKey        = annotation.Path
	legacyPathKey  = annotation.LegacyPath
	indexKey       = annotation.Index
	legacyIndexKey = annotation.LegacyIndex
)

// family holds both names of one annotation.
type family struct{ what, now, legacy string }

func families() [2]family {
	return [2]family{{"path", pathKey, legacyPathKey}, {"index", indexKey, legacyIndexKey}}
}

// tagged holds what one item had on input.
type tagged struct {
	item   *yaml.Node // nil for a new item
	at     int        // its index; -1 for a new item
	values [2]string  // the value of each family; "" for none
	empty  empties
}

// empties holds the metadata and annotations of an item if they existed and were empty; nil
// otherwise.
type empties struct{ metadata, annotations *yaml.Node }

func emptiesOf(n *yaml.Node) empties {
	meta := yamldoc.Field(n, "metadata")
	return empties{emptyCopy(meta), emptyCopy(yamldoc.Field(meta, "annotations"))}
}

// emptyCopy copies a node that is null or {}, before ids are put into it.
func emptyCopy(n *yaml.Node) *yaml.Node {
	if n == nil || !yamldoc.IsNull(n) && (n.Kind != yaml.MappingNode || len(n.Content) > 0) {
		return nil
	}
	c := *n
	return &c
}

// tags holds what the items had on input, by id, and which names of annotations were in use.
type tags struct {
	byID        map[string]tagged
	now, legacy bool // in use on at least one item
}

// tagItems gives each item an id, "1" to "n". It writes both names of each annotation that the item
// has by one of them.
func tagItems(items []*yaml.RNode) (*tags, error) {
	t := &tags{byID: make(map[string]tagged, len(items))}
	for i, item := range items {
		n := item.YNode()
		if n == nil || n.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("input item %d is not a mapping", i+1)
		}
		was := emptiesOf(n)
		a, err := annotationsOf(n)
		if err != nil && yamldoc.Flatten(n) == nil {
			// They may be an alias, which must be expanded only if they are not empty.
			was = emptiesOf(n)
			a, err = annotationsOf(n)
		}
		if err != nil {
			return nil, fmt.Errorf("input item %d: %w", i+1, err)
		}
		in := tagged{item: n, at: i, empty: was}
		for j, f := range families() {
			v, err := t.both(a, f)
			if err != nil {
				return nil, fmt.Errorf("input item %d: %w", i+1, err)
			}
			in.values[j] = v
		}
		id := strconv.Itoa(i + 1)
		setString(a, idKey, id)
		setString(a, legacyIDKey, id)
		t.byID[id] = in
	}
	return t, nil
}

// both writes an annotation by both names and returns its value.
func (t *tags) both(a *yaml.Node, f family) (string, error) {
	now, legacy := stringOf(a, f.now), stringOf(a, f.legacy)
	t.now = t.now || now != ""
	t.legacy = t.legacy || legacy != ""
	switch {
	case now != "" && legacy != "" && now != legacy:
		return "", fmt.Errorf("its annotations %s and %s differ: %q and %q", f.now, f.legacy, now, legacy)
	case now == "" && legacy != "":
		setString(a, f.now, legacy)
		return legacy, nil
	case now != "" && legacy == "":
		setString(a, f.legacy, now)
	}
	return now, nil
}

// untag removes the id of an item of the output, reconciles the names of its annotations, and
// returns what the item had on input.
func (t *tags) untag(n *yaml.Node) (tagged, error) {
	meta := yamldoc.Field(n, "metadata")
	a := yamldoc.Field(meta, "annotations")
	if a == nil || a.Kind != yaml.MappingNode {
		return tagged{at: -1}, nil
	}
	id := stringOf(a, idKey)
	if id == "" {
		id = stringOf(a, legacyIDKey)
	}
	in, known := t.byID[id]
	if !known {
		in.at = -1
	}
	had := len(a.Content)
	remove(a, idKey)
	remove(a, legacyIDKey)
	for j, f := range families() {
		if err := t.settle(a, f, in.values[j]); err != nil {
			return in, err
		}
	}
	if had > 0 && len(a.Content) == 0 {
		restore(meta, "annotations", in.empty.annotations)
		if len(meta.Content) == 0 {
			restore(n, "metadata", in.empty.metadata)
		}
	}
	return in, nil
}

// restore puts back the node that was there before tagItems; nil for none.
func restore(m *yaml.Node, key string, was *yaml.Node) {
	if was == nil {
		remove(m, key)
		return
	}
	m.Content[yamldoc.FieldIndex(m, key)+1] = was
}

// settle reconciles the two names of an annotation. The name by which the function changed it wins.
// The value is kept by the names that were in use on input, or by the current name if none was.
func (t *tags) settle(a *yaml.Node, f family, was string) error {
	now, legacy := stringOf(a, f.now), stringOf(a, f.legacy)
	value := now
	switch {
	case now == legacy:
	case now == "":
		value = legacy
	case legacy == "":
	case now != was && legacy != was:
		return fmt.Errorf("the function set the annotations %s and %s to different values: %q and %q",
			f.now, f.legacy, now, legacy)
	case now == was:
		value = legacy
	}
	if value == "" {
		remove(a, f.now)
		remove(a, f.legacy)
		return nil
	}
	keep(a, f.now, value, t.now || !t.legacy)
	keep(a, f.legacy, value, t.legacy)
	return nil
}

// StripAnnotations removes the annotations between orchestrator and function from output for
// people.
func StripAnnotations(items []*yaml.RNode) {
	for _, item := range items {
		annotation.Strip(item.YNode())
	}
}

// annotationsOf returns an item's annotations, and creates them if there are none.
func annotationsOf(n *yaml.Node) (*yaml.Node, error) {
	meta, err := childMapping(n, "metadata")
	if err != nil {
		return nil, err
	}
	return childMapping(meta, "annotations")
}

func childMapping(n *yaml.Node, name string) (*yaml.Node, error) {
	i := yamldoc.FieldIndex(n, name)
	if i < 0 {
		m := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
		n.Content = append(n.Content, yamldoc.Text(name), m)
		return m, nil
	}
	c := n.Content[i+1]
	if c.Kind == yaml.MappingNode {
		if len(c.Content) == 0 {
			c.Style &^= yaml.FlowStyle
		}
		return c, nil
	}
	if !yamldoc.IsNull(c) {
		return nil, fmt.Errorf("%s is not a mapping", name)
	}
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	n.Content[i+1] = m
	return m, nil
}

// stringOf returns the text of a scalar field; "" for none.
func stringOf(m *yaml.Node, key string) string { return annotation.Text(m, key) }

// keep sets a field if want, and removes it otherwise.
func keep(m *yaml.Node, key, value string, want bool) {
	if want {
		setString(m, key, value)
		return
	}
	remove(m, key)
}

func setString(m *yaml.Node, key, value string) {
	if i := yamldoc.FieldIndex(m, key); i >= 0 {
		if v := m.Content[i+1]; v.Kind != yaml.ScalarNode || v.Value != value {
			m.Content[i+1] = quoted(value)
		}
		return
	}
	m.Content = append(m.Content, yamldoc.Text(key), quoted(value))
}

func remove(m *yaml.Node, key string) { annotation.Remove(m, key) }
