package catalog

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// Decode reads a catalog in any of its shapes: kind Catalog, KRMFunctionCatalog or
// KRMFunctionDefinition, one or several documents, merged in order. The name and the
// labels are those of the first document that has them.
//
// name is what errors call the text: a path or a reference. The error is a
// *SyntaxErrors. The caller limits the size of data; aliases and nesting are limited
// here. Fields that running does not need may be missing, see Lint.
func Decode(name string, data []byte) (*Catalog, error) {
	d := decode(name, data)
	if err := d.ps.err(); err != nil {
		return nil, err
	}
	d.c.index = newIndex(d.c.Functions)
	return d.c, nil
}

// decode does what it can of a broken catalog too, for Lint.
func decode(name string, data []byte) *decoder {
	d := &decoder{ps: &problems{file: name}, c: &Catalog{Source: name}, meant: map[*yaml.Node][]string{}}
	d.docs = yamldoc.Documents(data, func(p yamldoc.Problem) { d.ps.put(&SyntaxError{Line: p.Line, Msg: p.Msg, Err: p}) })
	for _, doc := range d.docs {
		d.document(doc.Content[0])
	}
	if len(d.docs) == 0 && len(d.ps.list) == 0 {
		d.ps.add(0, "the file is empty, want a Catalog")
	}
	return d
}

// decoder turns the nodes of one file into a Catalog.
type decoder struct {
	ps     *problems
	c      *Catalog
	docs   []*yaml.Node
	blocks []block
	meant  map[*yaml.Node][]string // the fields that a mapping's unknown ones were taken for
}

// block is one `runtime:` as it is written: Rewrite edits these.
type block struct {
	node *yaml.Node
	at   FunctionID
}

func documentFields() []string { return []string{"apiVersion", "kind", "metadata", "spec"} }

func (d *decoder) document(n *yaml.Node) {
	var metadata, spec *yaml.Node
	if n.Kind != yaml.MappingNode {
		d.ps.add(n.Line, "the document must be a mapping, not a %s", typeOf(n))
		return
	}
	kind, ok := d.header(n)
	if !ok {
		return
	}
	if d.c.Kind == "" {
		d.c.Kind = kind
	}
	d.mapping(n, nil, documentFields, func(k, v *yaml.Node) bool {
		switch k.Value {
		case "apiVersion", "kind":
		case "metadata":
			metadata = v
		case "spec":
			spec = v
		default:
			return false
		}
		return true
	})
	if metadata != nil && !isNull(metadata) {
		d.metadata(metadata)
	}
	switch {
	case spec == nil || isNull(spec):
		d.missing(n, nil, "spec")
	case kind == KindDefinition:
		d.function(spec, (*path)(nil).field("spec"))
	default:
		d.spec(spec)
	}
}

// header looks at apiVersion and kind alone. A document that is something else entirely
// is not held against a catalog's fields.
func (d *decoder) header(n *yaml.Node) (kind string, ok bool) {
	before := len(d.ps.list) + d.ps.more
	kindAt, versionAt := value(n, "kind"), value(n, "apiVersion")
	version := ""
	if versionAt != nil {
		version = d.text(versionAt, (*path)(nil).field("apiVersion"))
	}
	if kindAt != nil {
		kind = d.text(kindAt, (*path)(nil).field("kind"))
	}
	if len(d.ps.list)+d.ps.more > before {
		return "", false
	}
	switch kind {
	case KindCatalog, KindKRMFunctionCatalog, KindDefinition:
		ok = true
	case "":
		d.ps.add(n.Line, "kind is missing, want %s", wantedKinds())
	default:
		d.ps.add(kindAt.Line, "kind is %s, want %s", quote(kind), wantedKinds())
	}
	switch version {
	case APIVersion:
		return kind, ok
	case "":
		d.ps.add(n.Line, "apiVersion is missing, want %s", APIVersion)
	default:
		d.ps.add(versionAt.Line, "apiVersion is %s, want %s", quote(version), APIVersion)
	}
	return "", false
}

func wantedKinds() string {
	return fmt.Sprintf("%s, %s or %s", KindCatalog, KindKRMFunctionCatalog, KindDefinition)
}

// value is the first value of a field, nil for none.
func value(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// metadata takes what is shown to people; the rest is Kubernetes' and is not checked.
func (d *decoder) metadata(n *yaml.Node) {
	p := (*path)(nil).field("metadata")
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, p, "mapping")
		return
	}
	if v := value(n, "name"); v != nil {
		if s := d.text(v, p.field("name")); d.c.Name == "" {
			d.c.Name = s
		}
	}
	if v := value(n, "labels"); v != nil {
		if m := d.pairs(v, p.field("labels")); len(d.c.Labels) == 0 {
			d.c.Labels = m
		}
	}
	if v := value(n, "annotations"); v != nil {
		if m := d.pairs(v, p.field("annotations")); len(d.c.Annotations) == 0 {
			d.c.Annotations = m
		}
	}
}

func specFields() []string { return []string{"krmFunctions"} }

func (d *decoder) spec(n *yaml.Node) {
	p := (*path)(nil).field("spec")
	found := false
	d.mapping(n, p, specFields, func(k, v *yaml.Node) bool {
		if k.Value != "krmFunctions" {
			return false
		}
		found = true
		p := p.field(k.Value)
		for i, c := range d.list(v, p) {
			d.function(c, p.entry(i))
		}
		return true
	})
	if !found && n.Kind == yaml.MappingNode {
		d.missing(n, p, "krmFunctions")
	}
}
