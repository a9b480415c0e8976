package fnexec

import (
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// maxKeys bounds the keys of one mapping. kustomize's reader and the printers take time that grows
// with their square: about ten seconds for this many.
const maxKeys = 30_000

// narrow refuses an item that has a mapping with too many keys. The error names the resource and
// the field.
func narrow(item *yaml.Node) error {
	path, keys := widest(item, nil)
	if keys <= maxKeys {
		return nil
	}
	what := []string{"it"}
	if id := idWords(item); id != "" {
		what = []string{id}
	}
	if len(path) > 0 {
		what = append(what, strings.TrimPrefix(strings.Join(path, ""), "."))
	}
	return fmt.Errorf("%s has %d keys: the limit for a mapping is %d", strings.Join(what, ": "), keys, maxKeys)
}

// widest finds a mapping with more than maxKeys keys, if there is one.
func widest(n *yaml.Node, path []string) (at []string, keys int) {
	step := ""
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.MappingNode && len(n.Content)/2 > maxKeys:
			return path, len(n.Content) / 2
		case n.Kind == yaml.MappingNode && i%2 == 0:
			step = "." + c.Value
			continue
		case n.Kind == yaml.SequenceNode && len(c.Content) > 0:
			step = "[" + strconv.Itoa(i) + "]"
		}
		if len(c.Content) == 0 {
			continue
		}
		if at, keys := widest(c, append(path, step)); keys > maxKeys {
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
