package selector

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// Selector matches resources that have all of its values. An empty value matches everything.
type Selector struct {
	APIVersion, Kind, Name, Namespace string
	Labels, Annotations               map[string]string
}

// Empty reports whether the selector names no value.
func (s Selector) Empty() bool {
	return s.APIVersion == "" && s.Kind == "" && s.Name == "" && s.Namespace == "" && len(s.Labels) == 0 && len(s.Annotations) == 0
}

// Match reports whether a resource has all values of the selector. Values are compared as they are
// written: there are no patterns, and no namespace is not the namespace default.
func (s Selector) Match(item *yaml.RNode) bool {
	n := item.YNode()
	meta := yamldoc.Field(n, "metadata")
	return has(n, "apiVersion", s.APIVersion) && has(n, "kind", s.Kind) &&
		has(meta, "name", s.Name) && has(meta, "namespace", s.Namespace) &&
		hasAll(yamldoc.Field(meta, "labels"), s.Labels) && hasAll(yamldoc.Field(meta, "annotations"), s.Annotations)
}

// has reports whether a field is a text; "" matches everything.
func has(n *yaml.Node, field, want string) bool {
	return want == "" || is(yamldoc.Field(n, field), want)
}

// hasAll reports whether a mapping has all pairs, of which a value may be "".
func hasAll(n *yaml.Node, want map[string]string) bool {
	for key, value := range want {
		if !is(yamldoc.Field(n, key), value) {
			return false
		}
	}
	return true
}

func is(n *yaml.Node, want string) bool {
	return n != nil && n.Kind == yaml.ScalarNode && n.Value == want
}

// Selection says which resources a step sees: those that one of Selectors matches, or all if there
// are none, without those that one of Exclude matches. The zero value is all resources.
type Selection struct {
	Selectors, Exclude []Selector
}

// All reports whether the selection is that of every resource.
func (s Selection) All() bool { return len(s.Selectors) == 0 && len(s.Exclude) == 0 }

// Match reports whether the step sees a resource. As in kpt, an empty selector matches every
// resource, and an empty exclusion excludes none.
func (s Selection) Match(item *yaml.RNode) bool {
	if len(s.Selectors) > 0 && !matches(s.Selectors, item) {
		return false
	}
	for _, e := range s.Exclude {
		if !e.Empty() && e.Match(item) {
			return false
		}
	}
	return true
}

func matches(list []Selector, item *yaml.RNode) bool {
	for _, s := range list {
		if s.Match(item) {
			return true
		}
	}
	return false
}
