package files

import (
	"bytes"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/files/internal/edit"
	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// document is one document of a file.
type document struct {
	segment
	index int // of the documents that are not empty; -1 for an empty one
	// source is the document as it is written, with aliases; nil if it is empty. flat has none.
	source, flat *yaml.Node
	// resource says that it is one. Other documents stay as they are.
	resource bool
	shared   int // the values that its aliases may stand for; 0 without aliases
}

// parse reads the documents of a file.
func (f *file) parse(max int) error {
	segments := split(f.data)
	if len(segments) > max {
		return limitError("%s: it has more documents than are read (%d)", f.path, max)
	}
	index := 0
	for _, s := range segments {
		d := document{segment: s, index: -1}
		if err := d.read(f.data[s.start:s.end]); err != nil {
			e := yamldoc.In(f.path, failure.Usage, err)
			e.Line += s.line - 1
			return e
		}
		if d.source != nil {
			d.index = index
			index++
		}
		f.docs = append(f.docs, d)
	}
	return nil
}

func (d *document) read(text []byte) error {
	text = edit.Lines(text)
	source, err := yamldoc.Source(text)
	if err != nil || source == nil || yamldoc.IsNull(source.Content[0]) {
		return err
	}
	d.source, d.flat = source, source.Content[0]
	top := d.flat
	d.resource = top.Kind == yaml.MappingNode && annotation.Text(top, "apiVersion") != "" && annotation.Text(top, "kind") != ""
	if !d.resource {
		return nil // whatever else it is, nobody reads it
	}
	if bytes.ContainsAny(text, "&*") || bytes.Contains(text, []byte("<<")) {
		d.flat = edit.Copy(top)
		defer func() { d.shared = count(d.flat) }()
	}
	if err := yamldoc.FlattenText(d.flat, len(text)); err != nil {
		return err
	}
	return checkMetadata(d.flat)
}

// count returns the number of values in a tree.
func count(n *yaml.Node) int {
	sum := 1
	for _, c := range n.Content {
		sum += count(c)
	}
	return sum
}

// checkMetadata refuses a resource that annotations cannot be added to.
func checkMetadata(n *yaml.Node) error {
	for _, key := range []string{"metadata", "annotations"} {
		v := yamldoc.Field(n, key)
		if v != nil && v.Kind != yaml.MappingNode && !yamldoc.IsNull(v) {
			return &yamldoc.Error{Line: v.Line, Msg: key + " must be a mapping, not " + yamldoc.Describe(v)}
		}
		n = v
	}
	return nil
}
