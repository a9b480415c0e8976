package openapi

// Why the merge is written here: docs/adr/0011-own-override-merge.md.

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// MergeError reports what in a patch, or in its base, cannot be merged.
type MergeError struct {
	Path string // of the field, as in spec.ports[1]; empty for the whole
	Msg  string
	// TooMuch means that a tree is larger or deeper than any real one.
	TooMuch bool
}

// Error implements error.
func (e *MergeError) Error() string {
	if e.Path == "" {
		return e.Msg
	}
	return e.Path + ": " + e.Msg
}

// Merge lays patch over base as a strategic merge patch and returns a new tree, which is nil if the
// patch deletes everything. Neither argument is changed. schema is the openAPIV3Schema of the
// function, nil for none. Malformed parts of it are ignored. The error is a *MergeError.
//
// lists reports, beside an error too, whether a list of the patch met a list of the base. If none
// did, the result does not depend on the schema.
//
// The rules are those of Kubernetes
// (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch), for
// lists with the keys of server-side apply as well. `$patch` is the only directive. A list that the
// schema does not describe is replaced as a whole.
func Merge(base, patch, schema *yaml.RNode) (merged *yaml.RNode, lists bool, err error) {
	m := &merger{}
	b, err := m.copyOf(base, false)
	if err != nil {
		return nil, false, err
	}
	p, err := m.copyOf(patch, true)
	if err != nil {
		return nil, false, err
	}
	if p != nil {
		b, err = m.value(b, p, m.schemas.root(schema))
	}
	if err != nil || b == nil {
		return nil, m.lists, err
	}
	return wrapLike(base, b), m.lists, nil
}

// merger merges copies, so it may change and move their nodes.
type merger struct {
	schemas schemas
	at      *yamldoc.Place // where the walk is; an error leaves it as it is
	lists   bool
}

// value returns the result of base, nil for none, under patch. It is nil if nothing is left.
func (m *merger) value(base, patch *yaml.Node, s shape) (*yaml.Node, error) {
	switch {
	case yamldoc.IsNull(patch) || deletes(patch):
		return nil, nil //nolint:nilnil // nothing is left, which is no error
	case patch.Kind == yaml.MappingNode:
		if base == nil || base.Kind != yaml.MappingNode || directiveOf(patch) == patchReplace {
			base, s = emptied(patch), nil
		}
		return base, m.mapping(base, patch, s)
	case patch.Kind == yaml.SequenceNode && base != nil && base.Kind == yaml.SequenceNode:
		m.lists = true
		return base, m.list(base, patch, s)
	case patch.Kind == yaml.SequenceNode:
		base = emptied(patch)
		return base, m.fill(base, patch)
	case base != nil && base.Kind == yaml.ScalarNode:
		base.Value, base.Tag, base.Style = patch.Value, patch.Tag, patch.Style
		comment(base, patch)
		return base, nil
	}
	return patch, nil
}

// mapping merges the fields of patch into base. A new field is merged into nothing, which removes
// its nulls and directives.
func (m *merger) mapping(base, patch *yaml.Node, s shape) error {
	empty := len(base.Content) == 0
	at := make(map[string]int, len(base.Content)/2)
	for i := 0; i < len(base.Content); i += 2 {
		at[base.Content[i].Value] = i + 1
	}
	for i := 0; i < len(patch.Content); i += 2 {
		key := patch.Content[i]
		if key.Value == directive {
			continue
		}
		var old *yaml.Node
		j, found := at[key.Value]
		if found {
			old = base.Content[j]
		}
		m.at = m.at.Field(key.Value)
		merged, err := m.value(old, patch.Content[i+1], m.schemas.field(s, key.Value))
		if err != nil {
			return err
		}
		m.at = m.at.Up()
		switch {
		case found:
			base.Content[j] = merged
		case merged != nil:
			base.Content = append(base.Content, key, merged)
		}
	}
	kept := base.Content[:0]
	for i := 0; i < len(base.Content); i += 2 {
		if base.Content[i+1] != nil {
			kept = append(kept, base.Content[i], base.Content[i+1])
		}
	}
	base.Content = kept
	restyle(base, patch, empty)
	return nil
}

// The directives: fields of the patch that control how their mapping is merged. The other
// directives of Kubernetes control how clients compute patches. They are refused.
const (
	directive    = "$patch"
	patchMerge   = "merge"
	patchReplace = "replace"
	patchDelete  = "delete"
)

// checkDirective refuses directives that are not supported.
func checkDirective(key, value *yaml.Node) string {
	for _, d := range []string{directive, "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList"} {
		if !strings.HasPrefix(key.Value, d) {
			continue
		}
		if key.Value != directive {
			return "the directive " + yamldoc.Quote(key.Value) + " is not supported, only " + directive + " is"
		}
		switch {
		case value.Kind != yaml.ScalarNode:
			return directive + " must be merge, replace or delete, not " + yamldoc.Describe(value)
		case value.Value != patchMerge && value.Value != patchReplace && value.Value != patchDelete:
			return directive + " must be merge, replace or delete, not " + yamldoc.Quote(value.Value)
		}
	}
	return ""
}

// directiveOf returns the `$patch` of a mapping of the patch, "" for none.
func directiveOf(n *yaml.Node) string {
	if n.Kind != yaml.MappingNode {
		return ""
	}
	if v := yamldoc.Field(n, directive); v != nil {
		return v.Value
	}
	return ""
}

// replacesList reports whether an item is the directive to replace the whole list by the other
// items.
func replacesList(item *yaml.Node) bool {
	return directiveOf(item) == patchReplace && len(item.Content) == 2
}

// deletes reports whether a mapping is the directive to delete.
func deletes(item *yaml.Node) bool { return directiveOf(item) == patchDelete }

// emptied returns a mapping or list of the patch without its content, to merge the content into.
func emptied(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	return &c
}

// restyle gives base the style of the patch if base was empty before: it could only be written {}
// or [].
func restyle(base, patch *yaml.Node, wasEmpty bool) {
	if wasEmpty && len(base.Content) > 0 {
		base.Style = patch.Style
	}
}

// comment replaces the comments of a value by those of the patch, if it has any.
func comment(base, patch *yaml.Node) {
	for _, c := range []struct {
		to   *string
		from string
	}{{&base.HeadComment, patch.HeadComment}, {&base.LineComment, patch.LineComment}, {&base.FootComment, patch.FootComment}} {
		if c.from != "" {
			*c.to = c.from
		}
	}
}
