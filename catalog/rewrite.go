package catalog

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// Rewrite prints a catalog after edit was called for each of its runtimes, in the order written:
// `push --pin` resolves references there. Comments and the order of fields are kept, and aliases
// are expanded. The same text always gives the same bytes.
//
// edit may change the node of the spec in place, or put another in rt.Spec. A change of rt.Kind has
// no effect. The runtime of a function is that of all of its versions: its id has no Version. An
// error of edit ends Rewrite, and is the cause of a *SyntaxError at the runtime. A catalog that
// Decode refuses gives a *SyntaxErrors. The file name is empty in each of them.
func Rewrite(data []byte, edit func(rt *Runtime, at FunctionID) error) ([]byte, error) {
	d := decode("", data)
	if err := d.ps.Err(); err != nil {
		return nil, err
	}
	for _, b := range d.blocks {
		if err := b.edit(edit); err != nil {
			return nil, err
		}
	}
	return write(d.docs, yaml.DeriveSeqIndentStyle(string(data)))
}

func (b block) edit(edit func(rt *Runtime, at FunctionID) error) error {
	for i := 0; i+1 < len(b.node.Content); i += 2 {
		k := b.node.Content[i]
		rt := Runtime{Kind: k.Value, Spec: yaml.NewRNode(b.node.Content[i+1]), Line: k.Line}
		if err := edit(&rt, b.at); err != nil {
			return &SyntaxError{Line: rt.Line, Msg: fmt.Sprintf("runtime %s of %s: %v", plain(rt.Kind), b.at, err), Err: err}
		}
		if rt.Spec == nil {
			return &SyntaxError{Line: rt.Line, Msg: fmt.Sprintf("runtime %s of %s: the edit left no spec", plain(rt.Kind), b.at)}
		}
		keepComment(b.node.Content[i+1], rt.Spec.YNode())
		b.node.Content[i+1] = rt.Spec.YNode()
	}
	return nil
}

// keepComment moves the comment behind a spec to the spec that replaces it. A mapping has no line
// of its own: the comment goes above its first field.
func keepComment(old, spec *yaml.Node) {
	if spec == old || old.LineComment == "" || spec.LineComment != "" {
		return
	}
	if spec.Kind == yaml.ScalarNode {
		spec.LineComment = old.LineComment
	} else if len(spec.Content) > 0 && spec.Content[0].HeadComment == "" {
		spec.Content[0].HeadComment = old.LineComment
	}
}

// spellNulls writes out nulls that are empty in braces or as a key: the library prints them as an
// empty string.
func spellNulls(n *yaml.Node) {
	for i, c := range n.Content {
		key := n.Kind == yaml.MappingNode && i%2 == 0
		if (key || n.Style&yaml.FlowStyle != 0) && yamldoc.IsNull(c) && c.Value == "" {
			c.Value = "null"
		}
		spellNulls(c)
	}
}

func write(docs []*yaml.Node, style string) ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoderWithOptions(&out, &yaml.EncoderOptions{SeqIndent: yaml.SequenceIndentStyle(style)})
	for _, doc := range docs {
		spellNulls(doc)
		if err := enc.Encode(doc); err != nil {
			return nil, fmt.Errorf("printing the catalog: %w", err)
		}
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("printing the catalog: %w", err)
	}
	return out.Bytes(), nil
}
