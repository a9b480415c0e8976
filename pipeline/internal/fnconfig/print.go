package fnconfig

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/kio"
)

// Print writes the value of a config for kustomize, with a name if it has none: kustomize
// requires one.
func (c Config) Print(v map[string]any) (string, error) {
	meta, ok := v["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		v["metadata"] = meta
	}
	if name, _ := meta["name"].(string); name == "" {
		meta["name"] = c.Name
	}
	if v["apiVersion"] != BuiltinVersion || v["kind"] != c.ID.Kind {
		return "", c.Errorf(c.Document.Node, "its apiVersion and kind are ambiguous")
	}
	j, err := json.Marshal(v)
	if err != nil {
		return "", c.NoJSON(err)
	}
	text := string(ASCII(j)) + "\n"
	return text, c.readable(text)
}

// readable checks that kustomize reads the text as one config: it reads an entry that is no config
// as a path.
func (c Config) readable(text string) error {
	nodes, err := kio.FromBytes([]byte(text))
	if err == nil && len(nodes) != 1 {
		err = fmt.Errorf("%d resources come out of it", len(nodes))
	}
	if err == nil {
		_, err = nodes[0].GetValidatedMetadata()
	}
	if err == nil {
		if hole, path := nodes[0].HasNilEntryInList(); hole {
			err = fmt.Errorf("there is an empty item in %s", path)
		}
	}
	if err != nil {
		return c.Errorf(c.Document.Node, "kustomize cannot read it: %v", err)
	}
	return nil
}

// ASCII escapes characters that YAML reads differently from JSON: it folds or refuses some line
// breaks and marks beyond ASCII.
func ASCII(j []byte) []byte {
	out := make([]byte, 0, len(j))
	for _, r := range string(j) {
		if r >= 0x7f && r <= 0xffff {
			out = fmt.Appendf(out, "\\u%04x", r)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}
