package files

import (
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/files/internal/edit"
	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// Tree is the resources of a directory, as they were read. It does not change, and is safe for
// concurrent use.
type Tree struct {
	dir      string // absolute, without links
	opts     Options
	files    []*file
	packages []string
	notes    []string
}

// Dir returns the absolute path of the directory, without links.
func (t *Tree) Dir() string { return t.dir }

// Notes returns what the user should know: links that were not read, and a change that was undone.
func (t *Tree) Notes() []string { return t.notes }

// Packages returns the directories that have a Kptfile, relative to the one that was read, which is
// ".", in the order in which they are walked: one before those below it.
func (t *Tree) Packages() []string { return t.packages }

// Items returns the resources in the order of paths, as the directories are walked, and of indices.
// Each call returns new nodes. They have the annotations internal.config.kubernetes.io/path,
// relative to the directory and with slashes, and index. Comments are those of the file; aliases
// are kept where the annotations allow it. What is no resource, since it has no apiVersion and
// kind, is not returned and stays as it is.
func (t *Tree) Items() []*yaml.RNode {
	var items []*yaml.RNode
	for _, f := range t.files {
		for _, d := range f.docs {
			if d.resource {
				items = append(items, yaml.NewRNode(d.item(f.path)))
			}
		}
	}
	return items
}

// item returns a copy of a resource with the annotations of its place.
func (d *document) item(path string) *yaml.Node {
	from := d.source.Content[0]
	if d.flat != from && !plainAbove(from) {
		from = d.flat // an annotation must not reach what shares the mapping
	}
	n := edit.Copy(from)
	writeNulls(n)
	a := mapping(mapping(n, "metadata"), "annotations")
	for _, name := range []string{annotation.LegacyPath, annotation.LegacyIndex, annotation.ID, annotation.LegacyID, annotation.Migration} {
		annotation.Remove(a, name)
	}
	set(a, annotation.Index, strconv.Itoa(d.index))
	set(a, annotation.Path, path)
	return n
}

// writeNulls writes the nulls in brackets that are not written: the printer of kyaml makes empty
// strings of them.
func writeNulls(n *yaml.Node) {
	for _, c := range n.Content {
		if n.Style&yaml.FlowStyle != 0 && c.Kind == yaml.ScalarNode && c.Value == "" && c.ShortTag() == yaml.NodeTagNull {
			c.Value = "null"
		}
		writeNulls(c)
	}
}

// plainAbove reports whether annotations can be added to a resource without a change elsewhere: the
// mappings they are in are neither shared nor merged.
func plainAbove(n *yaml.Node) bool {
	for _, key := range []string{"metadata", "annotations", ""} {
		if n.Kind == yaml.AliasNode || n.Anchor != "" || yamldoc.FieldIndex(n, "<<") >= 0 {
			return false
		}
		if n = yamldoc.Field(n, key); n == nil {
			return true
		}
	}
	return true
}

// mapping returns the mapping in a field, and makes it if there is none. It replaces null.
func mapping(m *yaml.Node, key string) *yaml.Node {
	i := yamldoc.FieldIndex(m, key)
	if i >= 0 && m.Content[i+1].Kind == yaml.MappingNode {
		return m.Content[i+1]
	}
	made := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	switch {
	case i < 0:
		m.Content = append(m.Content, yamldoc.Text(key), made)
	default:
		m.Content[i+1] = made
	}
	return made
}

func set(m *yaml.Node, key, value string) {
	v := yamldoc.Text(value)
	v.Style = yaml.SingleQuotedStyle
	if i := yamldoc.FieldIndex(m, key); i >= 0 {
		m.Content[i+1] = v
		return
	}
	m.Content = append(m.Content, yamldoc.Text(key), v)
}
