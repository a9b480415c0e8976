package fnexec

import (
	"cmp"
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
	v := yamldoc.NewValue(n, "results")
	if _, more := fieldBeside(v, "name"); !more && v.Get("name").Node() != nil {
		return nil, nil // an SDK that wrote a wrapper left out its empty list
	}
	d := &resultsDecoder{odd: odd}
	d.list(v, 0)
	return d.results, v.Err()
}

type resultsDecoder struct {
	results []Result
	odd     *ignored
}

// list reads a list of results, or of wrappers around lists. A wrapper holds no wrapper.
func (d *resultsDecoder) list(v yamldoc.Value, depth int) {
	switch {
	case v.IsMapping():
		d.entry(v, depth)
	case v.IsList():
		for _, e := range v.Each() {
			d.entry(e, depth)
		}
	case v.Present():
		v.Fail("it is neither a list nor a mapping")
	}
}

// entry reads a result, or a wrapper, or both in one mapping. Anything else is an error, since a
// result could be lost.
func (d *resultsDecoder) entry(v yamldoc.Value, depth int) {
	if !v.IsMapping() {
		v.Fail("it is not a mapping")
		return
	}
	if !v.Get("message").Present() && !v.Get("severity").Present() {
		if odd, found := fieldBeside(v, append(resultFields(), "name", "items")...); found {
			v.Fail("it has no message, no severity, and an unknown field: %s", odd)
			return
		}
	}
	d.odd.mapping(v, append(resultFields(), "name", "items")...)
	items := v.Get("items")
	if _, more := fieldBeside(v, "name", "items"); more || items.Node() == nil {
		d.results = append(d.results, Result{
			Message:     v.Get("message").Text(),
			Severity:    severity(v.Get("severity").Text()),
			ResourceRef: d.resourceRef(v.Get("resourceRef")),
			Field:       d.field(v.Get("field")),
			File:        d.file(v.Get("file")),
			Tags:        v.Get("tags").Pairs(),
		})
	}
	if depth > 0 && items.Node() != nil { // a bound on the depth
		v.Fail("its results are a list in a list")
		return
	}
	d.list(items, depth+1)
}

func resultFields() []string {
	return []string{"message", "severity", "resourceRef", "field", "file", "tags"}
}

// fieldBeside returns the first field of a mapping that is not in some.
func fieldBeside(v yamldoc.Value, some ...string) (name string, found bool) {
	if !v.IsMapping() {
		return "", false
	}
	for k := range v.Fields() {
		switch {
		case k.Kind != yaml.ScalarNode:
			return "its name is not a string", true
		case !slices.Contains(some, k.Value):
			return strconv.Quote(k.Value), true
		}
	}
	return "", false
}

func severity(text string) string {
	switch s := strings.ToLower(text); s {
	case SeverityError, SeverityWarning, SeverityInfo:
		return s
	case "warn":
		return SeverityWarning
	}
	return text
}

func (d *resultsDecoder) resourceRef(v yamldoc.Value) *ResourceRef {
	if !v.Map() {
		return nil
	}
	d.odd.mapping(v, "apiVersion", "kind", "namespace", "name", "metadata")
	meta := v.Get("metadata")
	meta.Map()
	return &ResourceRef{
		APIVersion: v.Get("apiVersion").Text(),
		Kind:       v.Get("kind").Text(),
		Namespace:  cmp.Or(v.Get("namespace").Text(), meta.Get("namespace").Text()),
		Name:       cmp.Or(v.Get("name").Text(), meta.Get("name").Text()),
	}
}

func (d *resultsDecoder) field(v yamldoc.Value) *Field {
	if !v.Map() {
		return nil
	}
	d.odd.mapping(v, "path", "currentValue", "proposedValue", "suggestedValue")
	proposed := cmp.Or(v.Get("proposedValue").Node(), v.Get("suggestedValue").Node())
	return &Field{Path: v.Get("path").Text(), CurrentValue: toAny(v.Get("currentValue").Node()), ProposedValue: toAny(proposed)}
}

func (d *resultsDecoder) file(v yamldoc.Value) *File {
	if !v.Map() {
		return nil
	}
	d.odd.mapping(v, "path", "index")
	f := &File{Path: v.Get("path").Text()}
	index := v.Get("index")
	if s := index.Text(); s != "" {
		i, err := strconv.ParseFloat(s, 64)
		if err != nil || i != float64(int32(i)) || i < -1 {
			index.Fail("%q is not the index of a document", s)
			return f
		}
		f.Index = int(i)
	}
	return f
}

// toAny converts a value of any shape into one that encoding/json can write.
func toAny(n *yaml.Node) any {
	switch {
	case yamldoc.IsNull(n):
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
