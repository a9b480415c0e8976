package openapi

// Why the merge is written here: docs/adr/0011-own-override-merge.md.

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// MergeError says what in a patch, or in what it is laid over, cannot be merged.
type MergeError struct {
	Path string // of the field, as in spec.ports[1]; empty for the whole
	Msg  string
}

func (e *MergeError) Error() string {
	if e.Path == "" {
		return e.Msg
	}
	return e.Path + ": " + e.Msg
}

// Merge lays patch over base as a strategic merge patch and returns a new tree, which is nil
// where the patch deletes the whole; neither argument is changed. schema is the function's
// openAPIV3Schema, nil for none; what is malformed in it counts as not said. The error is a
// *MergeError.
//
// lists tells whether a list of the patch met a list of the base, beside an error too: where
// none did, the result is the same whatever the schema.
//
// The rules are those of Kubernetes
// (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch),
// for lists with the keys of server-side apply as well, and with `$patch` as the only
// directive. A list of which the schema says nothing is replaced as a whole.
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

// value is what becomes of base, which is nil where there is none, under patch: nil where
// nothing does.
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

// mapping lays the fields of patch over those of base. What is new is merged into nothing,
// which takes nulls and directives out of it.
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

// The directives: a field of the patch that is about the mapping it stands in. The others
// that Kubernetes knows are about how clients compute patches, and refused.
const (
	directive    = "$patch"
	patchMerge   = "merge"
	patchReplace = "replace"
	patchDelete  = "delete"
)

// checkDirective refuses fields of a patch that would have to be obeyed and cannot be.
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

// directiveOf is the `$patch` of a mapping of the patch, empty where it has none.
func directiveOf(n *yaml.Node) string {
	if n.Kind != yaml.MappingNode {
		return ""
	}
	if v := yamldoc.Field(n, directive); v != nil {
		return v.Value
	}
	return ""
}

// replacesList tells an item that says of the whole list: replaced by the other items.
func replacesList(item *yaml.Node) bool {
	return directiveOf(item) == patchReplace && len(item.Content) == 2
}

// deletes tells a mapping that is there to say that it goes.
func deletes(item *yaml.Node) bool { return directiveOf(item) == patchDelete }

// emptied is a mapping or list of the patch that its own content is merged into.
func emptied(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	return &c
}

// restyle has what was empty, and so could only be written {} or [], be written as the
// patch is that put something in.
func restyle(base, patch *yaml.Node, wasEmpty bool) {
	if wasEmpty && len(base.Content) > 0 {
		base.Style = patch.Style
	}
}

// comment lets what the patch says of a value it sets stand in place of what was said of
// the old one.
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
