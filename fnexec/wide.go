package fnexec

import (
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// maxKeys bounds the keys of a mapping. kustomize's reader and the printers take time that grows
// with their square: about ten seconds for this many. All mappings of an output together take no
// more.
const maxKeys = 30_000

// keyCount adds up the squares of the keys of mappings.
type keyCount struct{ squares int64 }

// add counts an item. It refuses the mapping with which the keys become too many: the error names
// the resource and the field.
func (k *keyCount) add(item *yaml.Node) error {
	path, keys := k.walk(item, nil)
	if keys == 0 {
		return nil
	}
	what := []string{"it"}
	if id := idWords(item); id != "" {
		what = []string{id}
	}
	if len(path) > 0 {
		what = append(what, strings.TrimPrefix(strings.Join(path, ""), "."))
	}
	if keys > maxKeys {
		return fmt.Errorf("%s has %d keys: the limit for a mapping is %d", strings.Join(what, ": "), keys, maxKeys)
	}
	return fmt.Errorf("%s has %d keys: with the other mappings of the output, that is too many to read", strings.Join(what, ": "), keys)
}

// walk returns the mapping with which the keys below n become too many, and its keys; none if they
// do not.
func (k *keyCount) walk(n *yaml.Node, path []string) (at []string, keys int) {
	if n.Kind == yaml.MappingNode {
		keys := len(n.Content) / 2
		if k.squares += int64(keys) * int64(keys); k.squares > maxKeys*maxKeys {
			return path, keys
		}
	}
	step := ""
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 0:
			step = "." + c.Value
			continue
		case n.Kind == yaml.SequenceNode && len(c.Content) > 0:
			step = "[" + strconv.Itoa(i) + "]"
		}
		if len(c.Content) == 0 {
			continue
		}
		if at, keys := k.walk(c, append(path, step)); keys > 0 {
			return at, keys
		}
	}
	return nil, 0
}

// idWords names a resource: "v1 ConfigMap app/one".
func idWords(item *yaml.Node) string {
	var words []string
	text := func(n *yaml.Node) string {
		if n == nil || n.Kind != yaml.ScalarNode {
			return ""
		}
		return n.Value
	}
	meta := yamldoc.Field(item, "metadata")
	name := text(yamldoc.Field(meta, "name"))
	if space := text(yamldoc.Field(meta, "namespace")); space != "" {
		name = space + "/" + name
	}
	for _, word := range []string{text(yamldoc.Field(item, "apiVersion")), text(yamldoc.Field(item, "kind")), name} {
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}
