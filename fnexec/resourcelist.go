package fnexec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/spell"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// Names of the KRM Functions Specification v1.
const (
	listAPIVersion = "config.kubernetes.io/v1"
	listKind       = "ResourceList"
)

// maxTokens bounds the values in a document, approximately. A parsed value takes a hundred times
// its bytes. This many take two and a half gigabytes in the worst case that was measured, and
// correspond to a million lines of ordinary YAML.
const maxTokens = 1_000_000

// ResourceList is the parsed input or output of a function: KRM Functions Specification v1.
type ResourceList struct {
	Items          []*yaml.RNode
	FunctionConfig *yaml.RNode // nil for none
	Results        *yaml.RNode // as the function wrote them; nil for none

	ignored ignored
}

// ErrEmpty reports that Decode got no document.
var ErrEmpty = errors.New("there is no YAML document in it")

// Decode parses the output of a function: a ResourceList of v1, v1beta1 or v1alpha1, a List, or
// bare documents, as YAML or JSON. The data need not be trusted. Aliases are expanded, so that
// items share no nodes.
func Decode(data []byte) (*ResourceList, error) {
	list, err := decode(data)
	if err != nil {
		return nil, err
	}
	return list, nil
}

// decode is Decode. With an error, the list has what could be read of the results, which may say
// why.
func decode(data []byte) (*ResourceList, error) {
	list := &ResourceList{}
	docs, err := parse(data)
	if err != nil {
		return list, err
	}
	if len(docs) == 0 {
		return list, ErrEmpty
	}
	var first error
	for i, d := range docs {
		err := list.add(d, len(docs) == 1)
		if err != nil && len(docs) > 1 {
			err = fmt.Errorf("document %d: %w", i+1, err)
		}
		first = cmp.Or(first, err)
	}
	return list, first
}

// add adds the content of one document to the list.
func (l *ResourceList) add(n *yaml.Node, alone bool) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("it is neither a ResourceList nor a resource")
	}
	if !hasKind(n) {
		return errors.New("it has no kind")
	}
	kind := yamldoc.Field(n, "kind").Value
	switch {
	case kind == listKind && !alone:
		return errors.New("a ResourceList must be the only document")
	case kind == listKind:
		return l.unwrap(n)
	case kind == "List" && yamldoc.Field(n, "items") != nil:
		return l.unwrap(n)
	}
	l.Items = append(l.Items, yaml.NewRNode(n))
	return nil
}

func hasKind(n *yaml.Node) bool {
	k := yamldoc.Field(n, "kind")
	return k != nil && k.Kind == yaml.ScalarNode && k.Value != ""
}

func (l *ResourceList) unwrap(n *yaml.Node) error {
	if err := checkListVersion(n); err != nil {
		return err
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		l.Beside(n.Content[i].Value)
	}
	if c := yamldoc.Field(n, "functionConfig"); c != nil && !yamldoc.IsNull(c) {
		l.FunctionConfig = yaml.NewRNode(c)
	}
	l.report(yamldoc.Field(n, "results"))
	items := yamldoc.Field(n, "items")
	switch {
	case items == nil || yamldoc.IsNull(items): // no items
		return nil
	case items.Kind != yaml.SequenceNode:
		return fmt.Errorf("line %d: items is not a list", items.Line)
	}
	for i, item := range items.Content {
		if item.Kind != yaml.MappingNode {
			return fmt.Errorf("line %d: items[%d] is not a mapping", item.Line, i)
		}
		if !hasKind(item) {
			return fmt.Errorf("line %d: items[%d] has no kind", item.Line, i)
		}
		l.Items = append(l.Items, yaml.NewRNode(item))
	}
	return nil
}

// report adds the results of a list. Neither of two lists hides the results of the other.
func (l *ResourceList) report(r *yaml.Node) {
	if r != nil && r.Kind != yaml.ScalarNode && r.ShortTag() == yaml.NodeTagNull {
		r.Tag = "" // kyaml would ignore them: it goes by the tag
	}
	switch {
	case r == nil || yamldoc.IsNull(r):
	case l.Results == nil:
		l.Results = yaml.NewRNode(r)
	default:
		both := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
		for _, one := range []*yaml.Node{l.Results.YNode(), r} {
			if one.Kind == yaml.SequenceNode {
				both.Content = append(both.Content, one.Content...)
			} else {
				both.Content = append(both.Content, one)
			}
		}
		l.Results = yaml.NewRNode(both)
	}
}

// Beside records a field of the list that is not of the specification. Such a field is ignored, as
// in kyaml. It is a warning if it looks like a misspelt one of the specification: the results
// of a validator could be lost otherwise.
func (l *ResourceList) Beside(field string) {
	l.ignored.add(field, "its ResourceList", "apiVersion", "kind", "metadata", "items", "functionConfig", "results")
}

// ignored collects the fields of an output that are unknown and look misspelt, and what else of it
// was not taken as it is written.
type ignored struct{ fields yamldoc.Problems }

// note records what became of a value.
func (f *ignored) note(v yamldoc.Value, what string) { f.fields.Add(0, "%s %s", v.Place(), what) }

func (f *ignored) add(field string, of any, known ...string) {
	if slices.Contains(known, field) {
		return
	}
	if meant := spell.Nearest(field, known); meant != "" {
		f.fields.Add(0, "the field %q of %s is unknown and ignored: did you mean %s?", field, of, meant)
	}
}

// mapping adds the fields of a mapping.
func (f *ignored) mapping(v yamldoc.Value, known ...string) {
	for key := range v.Fields() {
		f.add(key.Value, v.Place(), known...)
	}
}

// warnings returns a warning for each of the first of them, and how many more there are.
func (f *ignored) warnings() []string {
	var some *yamldoc.Errors
	if !errors.As(f.fields.Err(), &some) {
		return nil
	}
	var out []string
	for _, one := range some.List {
		out = append(out, one.Text())
	}
	if some.More > 0 {
		out = append(out, fmt.Sprintf("and %d more fields that are unknown or were not taken as written", some.More))
	}
	return out
}

// checkListVersion refuses a ResourceList of an unknown version. A List has the version v1 of
// Kubernetes.
func checkListVersion(n *yaml.Node) error {
	if yamldoc.Field(n, "kind").Value != listKind {
		return nil
	}
	v := yamldoc.Field(n, "apiVersion")
	if v == nil {
		return errors.New("the ResourceList has no apiVersion")
	}
	switch v.Value {
	case listAPIVersion, "config.kubernetes.io/v1beta1", "config.kubernetes.io/v1alpha1":
		return nil
	}
	return fmt.Errorf("line %d: a ResourceList of the unknown apiVersion %q", v.Line, v.Value)
}

// parse parses all documents that are not empty.
func parse(data []byte) (docs []*yaml.Node, err error) {
	if tokens(data) > maxTokens {
		return nil, fmt.Errorf("it holds more than %d values", maxTokens)
	}
	defer func() {
		// The parser is a library, and its input may be hostile.
		if r := recover(); r != nil {
			docs, err = nil, fmt.Errorf("the YAML parser stopped with an internal error: %v", r)
		}
	}()
	for _, part := range split(data) {
		found, err := parsePart(part.data)
		if err != nil || hasWideBreak(part.data) {
			if text, ok := jsonAsYAML(part.data); ok {
				found, err = parsePart(text)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s%w", part.where(), err)
		}
		docs = append(docs, found...)
	}
	return docs, nil
}

// parsePart parses a part of split, which may still hold several documents.
func parsePart(data []byte) ([]*yaml.Node, error) {
	var docs []*yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		doc := &yaml.Node{}
		err := dec.Decode(doc)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, errors.New(yamldoc.ParserMessage(err))
		}
		if yaml.IsYNodeEmptyDoc(doc) || len(doc.Content) == 0 || yamldoc.IsNull(doc.Content[0]) {
			continue
		}
		if err := yamldoc.Flatten(doc); err != nil {
			return nil, errors.New(err.Error()) // as every limit of an output, it is the function's failure
		}
		docs = append(docs, unwrapDocument(doc))
	}
}

// tokens estimates the number of values in a document. It counts all five line breaks of YAML, with
// \r\n as one, and the characters that begin nested lists and mappings.
func tokens(data []byte) int {
	n := -bytes.Count(data, []byte("\r\n"))
	for _, s := range append([]string{",", "\n", "\r", "[", "{", "- ", "? "}, wideBreaks()...) {
		n += bytes.Count(data, []byte(s))
	}
	return n
}

// unwrapDocument moves a document's comments to its content.
func unwrapDocument(doc *yaml.Node) *yaml.Node {
	n := doc.Content[0]
	if n.HeadComment == "" {
		n.HeadComment = doc.HeadComment
	}
	if n.FootComment == "" {
		n.FootComment = doc.FootComment
	}
	return n
}

// part is the text of one document.
type part struct {
	data []byte
	line int // number of lines before it
}

func (p part) where() string {
	if p.line == 0 {
		return ""
	}
	return fmt.Sprintf("in the document that begins on line %d: ", p.line+1)
}

// split splits a stream before each line that begins with ---. The decoder would take the head
// comment of a document for the foot comment of the one before.
func split(data []byte) []part {
	var parts []part
	start, line, startLine := 0, 0, 0
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return append(parts, part{data[start:], startLine})
		}
		at += i + 1
		line++
		if rest := data[at:]; bytes.HasPrefix(rest, []byte("---")) && (len(rest) == 3 || bytes.IndexByte([]byte(" \t\r\n"), rest[3]) >= 0) {
			parts = append(parts, part{data[start:at], startLine})
			start, startLine = at, line
		}
	}
}
