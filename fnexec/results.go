package fnexec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// The severities of the specification.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
	SeverityInfo    = "info"
)

// Result is one entry of a function's results: KRM Functions Specification v1.
type Result struct {
	Message string `json:"message" yaml:"message"`
	// Severity is one of the Severity constants, or any other text that the function wrote.
	Severity    string            `json:"severity,omitempty" yaml:"severity,omitempty"`
	ResourceRef *ResourceRef      `json:"resourceRef,omitempty" yaml:"resourceRef,omitempty"`
	Field       *Field            `json:"field,omitempty" yaml:"field,omitempty"`
	File        *File             `json:"file,omitempty" yaml:"file,omitempty"`
	Tags        map[string]string `json:"tags,omitempty" yaml:"tags,omitempty"`
}

// ResourceRef names the resource that a Result is about.
type ResourceRef struct {
	APIVersion string `json:"apiVersion,omitempty" yaml:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty" yaml:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty" yaml:"namespace,omitempty"`
	Name       string `json:"name,omitempty" yaml:"name,omitempty"`
}

// Field names the field that a Result is about. The values have any shape; mappings are
// map[string]any.
type Field struct {
	Path          string `json:"path,omitempty" yaml:"path,omitempty"`
	CurrentValue  any    `json:"currentValue,omitempty" yaml:"currentValue,omitempty"`
	ProposedValue any    `json:"proposedValue,omitempty" yaml:"proposedValue,omitempty"`
}

// File names the file that a Result is about. Index is the number of its document, from 0; -1 if
// the function does not know it.
type File struct {
	Path  string `json:"path,omitempty" yaml:"path,omitempty"`
	Index int    `json:"index,omitempty" yaml:"index,omitempty"`
}

// String returns the result as one line.
func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s]", r.Severity)
	if ref := r.ResourceRef; ref != nil {
		var parts []string
		for _, p := range []string{ref.APIVersion, ref.Kind, ref.Namespace, ref.Name} {
			if p != "" {
				parts = append(parts, p)
			}
		}
		b.WriteString(" " + strings.Join(parts, "/"))
	}
	if r.File != nil && r.File.Path != "" {
		b.WriteString(" " + r.File.Path)
	}
	if r.Field != nil && r.Field.Path != "" {
		b.WriteString(" " + r.Field.Path)
	}
	if message := strings.TrimSpace(r.Message); message != "" {
		b.WriteString(": " + message)
	}
	return b.String()
}

// DecodeResults reads results in the shape of the specification and in older ones: wrapped in
// {name, items}, severity warn, resourceRef.metadata.name, suggestedValue. A missing severity
// stays empty, an unknown one is kept, and so are the empty message and the index -1 that some
// SDKs write. No field is required, but a result with neither message nor severity must have
// no unknown field. The results that can be read are returned beside the error.
func DecodeResults(n *yaml.RNode) ([]Result, error) { return decodeResults(n, &ignored{}) }

// decodeResults is DecodeResults. Fields that look misspelt are added to odd.
func decodeResults(n *yaml.RNode, odd *ignored) ([]Result, error) {
	if yaml.IsMissingOrNull(n) {
		return nil, nil
	}
	d := &resultsDecoder{odd: odd}
	if _, more := fieldBeside(n.YNode(), []string{"name"}); !more && yamldoc.Field(n.YNode(), "name") != nil {
		return nil, nil // an SDK that wrote a wrapper left out its empty list
	}
	d.list(n.YNode(), "results", 0)
	return d.results, d.err
}

type resultsDecoder struct {
	results []Result
	err     error // the first error
	odd     *ignored
}

func (d *resultsDecoder) fail(at, msg string) {
	if d.err == nil {
		d.err = fmt.Errorf("%s: %s", at, msg)
	}
}

// list reads a list of results, or of wrappers around lists. A wrapper holds no wrapper.
func (d *resultsDecoder) list(n *yaml.Node, at string, depth int) {
	switch n.Kind {
	case yaml.MappingNode:
		d.entry(n, at, depth)
	case yaml.SequenceNode:
		for i, c := range n.Content {
			d.entry(c, fmt.Sprintf("%s[%d]", at, i), depth)
		}
	default:
		if !yamldoc.IsNull(n) {
			d.fail(at, "it is neither a list nor a mapping")
		}
	}
}

// entry reads a result, or a wrapper, or both in one mapping. Anything else is an error, since a
// result could be lost.
func (d *resultsDecoder) entry(n *yaml.Node, at string, depth int) {
	if n.Kind != yaml.MappingNode {
		d.fail(at, "it is not a mapping")
		return
	}
	says := func(name string) bool { v := yamldoc.Field(n, name); return v != nil && !yamldoc.IsNull(v) }
	if !says("message") && !says("severity") {
		if odd, found := fieldBeside(n, append(resultFields(), "name", "items")); found {
			d.fail(at, fmt.Sprintf("it has no message, no severity, and an unknown field: %s", odd))
			return
		}
	}
	d.odd.mapping(n, at, append(resultFields(), "name", "items")...)
	items := yamldoc.Field(n, "items")
	if _, more := fieldBeside(n, []string{"name", "items"}); more || items == nil {
		r := Result{Message: d.text(n, "message", at), Severity: d.severity(n, at), Tags: d.tags(n, at)}
		r.ResourceRef = d.resourceRef(n, at)
		r.Field = d.field(n, at)
		r.File = d.file(n, at)
		d.results = append(d.results, r)
	}
	switch {
	case items == nil:
	case depth > 0: // a bound on the depth
		d.fail(at, "its results are a list in a list")
	default:
		d.list(items, at+".items", depth+1)
	}
}

func resultFields() []string {
	return []string{"message", "severity", "resourceRef", "field", "file", "tags"}
}

// fieldBeside returns the first field of a mapping that is not in some.
func fieldBeside(n *yaml.Node, some []string) (name string, found bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch k := n.Content[i]; {
		case k.Kind != yaml.ScalarNode:
			return "its name is not a string", true
		case !slices.Contains(some, k.Value):
			return strconv.Quote(k.Value), true
		}
	}
	return "", false
}

func (d *resultsDecoder) severity(n *yaml.Node, at string) string {
	text := d.text(n, "severity", at)
	switch s := strings.ToLower(text); s {
	case SeverityError, SeverityWarning, SeverityInfo:
		return s
	case "warn":
		return SeverityWarning
	}
	return text
}

func (d *resultsDecoder) resourceRef(n *yaml.Node, at string) *ResourceRef {
	at += ".resourceRef"
	m := d.mapping(n, "resourceRef", at)
	if m == nil {
		return nil
	}
	d.odd.mapping(m, at, "apiVersion", "kind", "namespace", "name", "metadata")
	ref := &ResourceRef{
		APIVersion: d.text(m, "apiVersion", at),
		Kind:       d.text(m, "kind", at),
		Namespace:  d.text(m, "namespace", at),
		Name:       d.text(m, "name", at),
	}
	if meta := d.mapping(m, "metadata", at); meta != nil {
		if ref.Name == "" {
			ref.Name = d.text(meta, "name", at)
		}
		if ref.Namespace == "" {
			ref.Namespace = d.text(meta, "namespace", at)
		}
	}
	return ref
}

func (d *resultsDecoder) field(n *yaml.Node, at string) *Field {
	at += ".field"
	m := d.mapping(n, "field", at)
	if m == nil {
		return nil
	}
	d.odd.mapping(m, at, "path", "currentValue", "proposedValue", "suggestedValue")
	f := &Field{Path: d.text(m, "path", at), CurrentValue: toAny(yamldoc.Field(m, "currentValue"))}
	if p := yamldoc.Field(m, "proposedValue"); p != nil {
		f.ProposedValue = toAny(p)
	} else {
		f.ProposedValue = toAny(yamldoc.Field(m, "suggestedValue"))
	}
	return f
}

func (d *resultsDecoder) file(n *yaml.Node, at string) *File {
	at += ".file"
	m := d.mapping(n, "file", at)
	if m == nil {
		return nil
	}
	d.odd.mapping(m, at, "path", "index")
	f := &File{Path: d.text(m, "path", at)}
	if s := d.text(m, "index", at); s != "" {
		i, err := strconv.ParseFloat(s, 64)
		if err != nil || i != float64(int32(i)) || i < -1 {
			d.fail(at+".index", fmt.Sprintf("%q is not the index of a document", s))
			return f
		}
		f.Index = int(i)
	}
	return f
}

func (d *resultsDecoder) tags(n *yaml.Node, at string) map[string]string {
	at += ".tags"
	m := d.mapping(n, "tags", at)
	if m == nil {
		return nil
	}
	tags := make(map[string]string, len(m.Content)/2)
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i+1].Kind != yaml.ScalarNode {
			d.fail(at, fmt.Sprintf("%q is not a string", m.Content[i].Value))
			continue
		}
		tags[m.Content[i].Value] = m.Content[i+1].Value
	}
	return tags
}

// text reads a scalar field; "" for none.
func (d *resultsDecoder) text(n *yaml.Node, name, at string) string {
	v := yamldoc.Field(n, name)
	if v == nil || yamldoc.IsNull(v) {
		return ""
	}
	if v.Kind != yaml.ScalarNode {
		d.fail(at+"."+name, "it is not a string")
		return ""
	}
	return v.Value
}

// mapping reads a field that is a mapping; nil for none.
func (d *resultsDecoder) mapping(n *yaml.Node, name, at string) *yaml.Node {
	v := yamldoc.Field(n, name)
	if v == nil || yamldoc.IsNull(v) {
		return nil
	}
	if v.Kind != yaml.MappingNode {
		d.fail(at, "it is not a mapping")
		return nil
	}
	return v
}

// toAny converts a value of any shape into one that encoding/json can write.
func toAny(n *yaml.Node) any {
	switch {
	case n == nil || yamldoc.IsNull(n):
		return nil
	case n.Kind == yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = toAny(n.Content[i+1])
		}
		return m
	case n.Kind == yaml.SequenceNode:
		s := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			s = append(s, toAny(c))
		}
		return s
	case n.Kind != yaml.ScalarNode:
		return nil
	}
	switch n.ShortTag() {
	case yaml.NodeTagBool, yaml.NodeTagInt, yaml.NodeTagFloat:
		var v any
		if err := n.Decode(&v); err == nil && finite(v) {
			return v
		}
	}
	return n.Value
}

// finite reports whether JSON can express a value: not .inf and not .nan.
func finite(v any) bool {
	f, ok := v.(float64)
	return !ok || f-f == 0
}
