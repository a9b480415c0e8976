package resource

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	k8syaml "sigs.k8s.io/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// IDKey is the annotation in which a transformer gets the current id of a resource from kustomize.
const IDKey = "kustomize.config.k8s.io/id"

// The annotations by which a generator controls what kustomize does with a resource.
const (
	HashKey     = "kustomize.config.k8s.io/needs-hash"
	BehaviorKey = "kustomize.config.k8s.io/behavior"
)

// Orchestration reports whether only orchestrators read and write an annotation.
func Orchestration(key string) bool {
	switch key {
	case IDKey, "config.kubernetes.io/path", "config.kubernetes.io/index", "config.k8s.io/id":
		return true
	}
	return strings.HasPrefix(key, "internal.config.kubernetes.io/")
}

// WriteID writes the current id of a resource into its annotations.
func WriteID(n *yaml.RNode) error {
	group, version := resid.ParseGroupVersion(n.GetApiVersion())
	text, err := idText([][2]string{
		{"group", group}, {"kind", n.GetKind()}, {"name", n.GetName()}, {"namespace", n.GetNamespace()}, {"version", version},
	})
	if err != nil {
		return fmt.Errorf("writing the id of %s: %w", IDOf(n), err)
	}
	meta := yamldoc.Field(n.YNode(), "metadata")
	notes := yamldoc.Field(meta, "annotations")
	if notes == nil && meta != nil && meta.Kind == yaml.MappingNode {
		notes = &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
		meta.Content = append(meta.Content, yaml.NewStringRNode("annotations").YNode(), notes)
	}
	if notes == nil || notes.Kind != yaml.MappingNode {
		return n.PipeE(yaml.SetAnnotation(IDKey, text)) // it replaces null, and returns an error for other types
	}
	notes.Style &^= yaml.FlowStyle // it was {}, or one line
	value := yaml.NewStringRNode(text).YNode()
	if was := yamldoc.Field(notes, IDKey); was != nil {
		*was = *value
		return nil
	}
	notes.Content = append(notes.Content, yaml.NewStringRNode(IDKey).YNode(), value)
	return nil
}

// idText prints the fields of an id that are not empty, which it gets in alphabetical order. Nearly
// all values are plain words, which need no YAML printer.
func idText(fields [][2]string) (string, error) {
	fields = slices.DeleteFunc(fields, func(f [2]string) bool { return f[1] == "" })
	if len(fields) > 0 && !slices.ContainsFunc(fields, func(f [2]string) bool { return !plainWord(f[1]) }) {
		var b strings.Builder
		for _, f := range fields {
			b.WriteString(f[0] + ": " + f[1] + "\n")
		}
		return b.String(), nil
	}
	id := make(map[string]string, len(fields))
	for _, f := range fields {
		id[f[0]] = f[1]
	}
	text, err := k8syaml.Marshal(id)
	return string(text), err
}

// plainWord reports whether YAML certainly prints a text without quotes.
func plainWord(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20 // lower case
		if letter := c >= 'a' && c <= 'z'; !letter && (i == 0 || s[i] != '-' && s[i] != '.' && (s[i] < '0' || s[i] > '9')) {
			return false
		}
	}
	switch strings.ToLower(s) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return true
}

// Clean removes the annotations for which drop is true.
func Clean(n *yaml.RNode, drop func(key string) bool) error {
	notes := n.GetAnnotations()
	before := len(notes)
	maps.DeleteFunc(notes, func(key, _ string) bool { return drop(key) })
	if len(notes) == before {
		return nil
	}
	if err := n.SetAnnotations(notes); err != nil {
		return fmt.Errorf("writing the annotations of %s: %w", IDOf(n), err)
	}
	return nil
}
