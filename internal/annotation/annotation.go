package annotation

import (
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// The annotations between orchestrator and function. Old functions read and write the legacy names.
const (
	ID          = "internal.config.kubernetes.io/id"
	LegacyID    = "config.k8s.io/id"
	Path        = "internal.config.kubernetes.io/path"
	LegacyPath  = "config.kubernetes.io/path"
	Index       = "internal.config.kubernetes.io/index"
	LegacyIndex = "config.kubernetes.io/index"
	// SeqIndent has the style of lists in the file, "wide" or "compact". Functions keep it, and none
	// needs it.
	SeqIndent = "internal.config.kubernetes.io/seqindent"
	// PackagePath has the directory of a kpt package.
	PackagePath = "internal.config.kubernetes.io/package-path"
	// ResourceID is an id that kpt gives to resources where a function gets some of them.
	ResourceID = "internal.config.kubernetes.io/kpt-resource-id"
	// Migration is an id that functions of kyaml leave behind.
	Migration = "internal.config.kubernetes.io/annotations-migration-resource-id"
)

// Is reports whether a name is that of an annotation that must not reach a file.
func Is(name string) bool {
	switch name {
	case ID, LegacyID, Path, LegacyPath, Index, LegacyIndex, SeqIndent, PackagePath, ResourceID, Migration:
		return true
	}
	return false
}

// Of returns the annotations of a resource, nil if they are not a mapping.
func Of(resource *yaml.Node) *yaml.Node {
	a := yamldoc.Field(yamldoc.Field(resource, "metadata"), "annotations")
	if a == nil || a.Kind != yaml.MappingNode {
		return nil
	}
	return a
}

// Strip removes the annotations of this package from a resource, and annotations that are empty
// then.
func Strip(resource *yaml.Node) {
	a := Of(resource)
	if a == nil {
		return
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(a.Content); i += 2 {
		if !Is(a.Content[i].Value) {
			kept = append(kept, a.Content[i], a.Content[i+1])
		}
	}
	if len(kept) == 0 && len(a.Content) > 0 {
		Remove(yamldoc.Field(resource, "metadata"), "annotations")
		return
	}
	a.Content = kept
}

// AddLegacy writes the path and the index of a resource by their legacy names too.
func AddLegacy(resource *yaml.Node) {
	a := Of(resource)
	for _, family := range [][2]string{{Path, LegacyPath}, {Index, LegacyIndex}} {
		value := Text(a, family[0])
		if value == "" || yamldoc.FieldIndex(a, family[1]) >= 0 {
			continue
		}
		text := yamldoc.Text(value)
		text.Style = yaml.SingleQuotedStyle
		a.Content = append(a.Content, yamldoc.Text(family[1]), text)
	}
}

// DefaultPath returns the path of a resource that has none: [namespace/]kind_name.yaml.
func DefaultPath(resource *yaml.Node) string {
	meta := yamldoc.Field(resource, "metadata")
	p := fileName(strings.ToLower(Text(resource, "kind")) + "_" + Text(meta, "name") + ".yaml")
	if space := Text(meta, "namespace"); space != "" {
		p = path.Join(fileName(space), p)
	}
	return p
}

// fileName turns a name of a stranger's into the name of one file. A namespace called ../.. must
// not lead out of the directory.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, s)
	if strings.Trim(s, ". ") == "" {
		return strings.Repeat("_", max(len(s), 1))
	}
	return s
}

// Text returns the text of a scalar field; "" for none.
func Text(m *yaml.Node, key string) string {
	v := yamldoc.Field(m, key)
	if v == nil || v.Kind != yaml.ScalarNode || yamldoc.IsNull(v) {
		return ""
	}
	return v.Value
}

// Remove removes a field of a mapping.
func Remove(m *yaml.Node, key string) {
	if i := yamldoc.FieldIndex(m, key); i >= 0 {
		m.Content = append(m.Content[:i], m.Content[i+2:]...)
	}
}
