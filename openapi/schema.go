package openapi

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// shape is the schema of one place in a config: the schema itself and those of its allOf, in the
// order in which they are asked. Nil means that there is none.
type shape []*yaml.Node

// maxShape bounds the schemas of one place: schemas are not trusted.
const maxShape = 64

// schemas walks a schema, which may be any tree: malformed parts are ignored. It never goes deeper
// than the config.
type schemas struct {
	index map[*yaml.Node]map[string]*yaml.Node // of large mappings
}

func (s *schemas) root(rn *yaml.RNode) shape {
	n, _ := within(rn)
	room := maxShape
	return s.add(nil, n, &room)
}

// add appends a schema and all of its allOf, up to the bound.
func (s *schemas) add(to shape, n *yaml.Node, room *int) shape {
	if *room--; *room < 0 || n == nil || n.Kind != yaml.MappingNode {
		return to
	}
	to = append(to, n)
	all := s.lookUp(n, "allOf")
	if all == nil || all.Kind != yaml.SequenceNode {
		return to
	}
	for _, one := range all.Content {
		if *room <= 0 {
			break
		}
		to = s.add(to, one, room)
	}
	return to
}

// field returns the shape of a field of a mapping.
func (s *schemas) field(of shape, name string) shape {
	var to shape
	room := maxShape
	for _, n := range of {
		value := s.lookUp(s.lookUp(n, "properties"), name)
		if value == nil {
			value = s.lookUp(n, "additionalProperties")
		}
		to = s.add(to, value, &room)
	}
	return to
}

// items returns the shape of the items of a list.
func (s *schemas) items(of shape) shape {
	var to shape
	room := maxShape
	for _, n := range of {
		to = s.add(to, s.lookUp(n, "items"), &room)
	}
	return to
}

// lookUp is yamldoc.Field with an index for large mappings, since they are asked for each field.
func (s *schemas) lookUp(n *yaml.Node, name string) *yaml.Node {
	const few = 32
	if n == nil || n.Kind != yaml.MappingNode || len(n.Content) <= 2*few {
		return yamldoc.Field(n, name)
	}
	fields, known := s.index[n]
	if !known {
		fields = make(map[string]*yaml.Node, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if k := n.Content[i]; k != nil && k.Kind == yaml.ScalarNode && fields[k.Value] == nil {
				fields[k.Value] = n.Content[i+1]
			}
		}
		if s.index == nil {
			s.index = map[*yaml.Node]map[string]*yaml.Node{}
		}
		s.index[n] = fields
	}
	return fields[name]
}

// defaultOf returns the default of a scalar, nil for none.
func (s *schemas) defaultOf(of shape) *yaml.Node {
	for _, n := range of {
		if d := s.lookUp(n, "default"); d != nil && d.Kind == yaml.ScalarNode && !yamldoc.IsNull(d) {
			return d
		}
	}
	return nil
}

// merging is how a list merges: by keys, as a set of values, or not at all.
type merging struct {
	keys  []string
	union bool
}

// merging reads the extensions of a list, those of strategic merge patches first. Of one key
// and several, the several win where the one is among them: with it alone, items that differ
// in another key (ports by protocol) could not be told apart.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
func (s *schemas) merging(of shape) merging {
	strategy := strings.Split(s.word(of, "x-kubernetes-patch-strategy"), ",")
	key, kind := s.word(of, "x-kubernetes-patch-merge-key"), s.word(of, "x-kubernetes-list-type")
	var keys []string
	if kind == "map" || kind == "" {
		keys = s.words(of, "x-kubernetes-list-map-keys")
	}
	switch {
	case slices.Contains(strategy, "replace"):
		return merging{}
	case key != "" && !slices.Contains(keys, key):
		return merging{keys: []string{key}}
	case kind == "atomic":
		return merging{}
	case len(keys) > 0:
		return merging{keys: keys}
	}
	return merging{union: kind == "set" || slices.Contains(strategy, "merge")}
}

// word returns an extension that is one word, from the first schema that has it.
func (s *schemas) word(of shape, extension string) string {
	for _, n := range of {
		if w, ok := text(s.lookUp(n, extension)); ok {
			return w
		}
	}
	return ""
}

// words returns an extension that is a list of different words.
func (s *schemas) words(of shape, extension string) []string {
	const most = 32
	for _, n := range of {
		list := s.lookUp(n, extension)
		if list == nil || list.Kind != yaml.SequenceNode || len(list.Content) == 0 || len(list.Content) > most {
			continue
		}
		var found []string
		for _, item := range list.Content {
			if w, ok := text(item); ok && !slices.Contains(found, w) {
				found = append(found, w)
			}
		}
		if len(found) == len(list.Content) {
			return found
		}
	}
	return nil
}

func text(n *yaml.Node) (string, bool) {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() != yaml.NodeTagString || n.Value == "" {
		return "", false
	}
	return n.Value, true
}
