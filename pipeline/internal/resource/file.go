package resource

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// File is the place of a resource, by its annotations: the path of its file, and the number of its
// document there. "" means that it has none.
type File struct{ Path, Index string }

// FileOf returns the place of a resource.
func FileOf(n *yaml.RNode) File {
	return File(annotation.FileOf(n.YNode()))
}

// Place writes the place of a resource, by the names of the annotations that it has. A value that
// is "" stays.
func (f File) Place(n *yaml.RNode) error {
	notes := annotation.Of(n.YNode())
	for _, family := range [][3]string{{f.Path, annotation.Path, annotation.LegacyPath}, {f.Index, annotation.Index, annotation.LegacyIndex}} {
		value, now, legacy := family[0], family[1], family[2]
		if value == "" {
			continue
		}
		old := yamldoc.Field(notes, legacy)
		if old != nil && annotation.Text(notes, legacy) != value {
			*old = *yaml.NewStringRNode(value).YNode()
		}
		if annotation.Text(notes, now) == value || old != nil && yamldoc.Field(notes, now) == nil {
			continue
		}
		if err := n.PipeE(yaml.SetAnnotation(now, value)); err != nil {
			return err
		}
	}
	return nil
}

// Name identifies a resource as it is written. Two resources in different files may have the same.
type Name struct{ APIVersion, Kind, Namespace, Name string }

// NameOf returns the name of a resource. What is missing is "".
func NameOf(n *yaml.RNode) Name {
	meta := yamldoc.Field(n.YNode(), "metadata")
	return Name{
		APIVersion: annotation.Text(n.YNode(), "apiVersion"), Kind: annotation.Text(n.YNode(), "kind"),
		Namespace: annotation.Text(meta, "namespace"), Name: annotation.Text(meta, "name"),
	}
}

// String writes the name for people, as ID does.
func (n Name) String() string {
	s := n.APIVersion + " " + n.Kind + " "
	if n.Namespace != "" {
		s += n.Namespace + "/"
	}
	return s + n.Name
}
