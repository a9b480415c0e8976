package fnexec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// DecodeResults reads results in the shape of the specification and in older ones: wrapped in
// {name, items}, severity warn, resourceRef.metadata.name, suggestedValue. A missing severity
// stays empty, an unknown one is kept, and so are the empty message and the index -1 that some
// SDKs write. Nothing makes it fail, so that a result never costs the resources beside it: an entry
// of another shape becomes a result with its text as the message. The notes say what was mended or
// left out.
func DecodeResults(n *yaml.RNode) (results []Result, notes []string) {
	odd := &ignored{}
	results = decodeResults(n, odd)
	return results, odd.warnings()
}

// decodeResults is DecodeResults. The notes are added to odd.
func decodeResults(n *yaml.RNode, odd *ignored) []Result {
	if yaml.IsMissingOrNull(n) {
		return nil
	}
	v := yamldoc.NewValue(n, "results")
	if !fieldBeside(v, "name") && v.Get("name").Node() != nil {
		return nil // an SDK that wrote a wrapper left out its empty list
	}
	d := &resultsDecoder{odd: odd}
	d.list(v, 0)
	return d.results
}

type resultsDecoder struct {
	results []Result
	odd     *ignored
}

// listDepth bounds how deep lists of results are nested: SDKs write one list or two.
const listDepth = 8

// list reads a list of results, or of wrappers around lists.
func (d *resultsDecoder) list(v yamldoc.Value, depth int) {
	switch {
	case depth > listDepth:
		d.unread(v, v.Node(), "its lists are nested too deep")
	case v.IsList():
		for _, e := range v.Each() {
			d.entry(e, depth)
		}
	case v.Present():
		d.entry(v, depth)
	}
}

// entry reads a result, or a wrapper, or both in one mapping.
func (d *resultsDecoder) entry(v yamldoc.Value, depth int) {
	switch {
	case v.IsList():
		d.odd.note(v, "is a list in a list: its entries are taken as results")
		d.list(v, depth+1)
	case v.IsText():
		d.odd.note(v, "is not a mapping: its text is taken as the message")
		d.results = append(d.results, Result{Message: v.Text()})
	case !v.Present():
		d.results = append(d.results, Result{})
	default:
		d.mapping(v, depth)
	}
}

func (d *resultsDecoder) mapping(v yamldoc.Value, depth int) {
	items := v.Get("items")
	said := v.Get("message").Present() || v.Get("severity").Present()
	switch {
	case !said && fieldBeside(v, append(resultFields(), "name", "items")...):
		d.unread(v, without(v.Node(), "items"), "has no message, no severity, and an unknown field")
	case fieldBeside(v, "name", "items") || items.Node() == nil:
		d.odd.mapping(v, append(resultFields(), "name", "items")...)
		d.results = append(d.results, Result{
			Message:     d.text(v.Get("message")),
			Severity:    severity(d.text(v.Get("severity"))),
			ResourceRef: d.resourceRef(v.Get("resourceRef")),
			Field:       d.field(v.Get("field")),
			File:        d.file(v.Get("file")),
			Tags:        d.tags(v.Get("tags")),
		})
	}
	d.list(items, depth+1)
}

// unread keeps an entry that is no result, so that an error in it does not pass unseen.
func (d *resultsDecoder) unread(v yamldoc.Value, n *yaml.Node, why string) {
	d.odd.note(v, why+": it is kept whole as the message of a result with the severity "+severityUnread)
	d.results = append(d.results, Result{Message: compact(n), Severity: severityUnread})
}

// without returns a mapping without a field.
func without(n *yaml.Node, name string) *yaml.Node {
	c := *n
	c.Content = slices.Clone(n.Content)
	remove(&c, name)
	return &c
}

func resultFields() []string {
	return []string{"message", "severity", "resourceRef", "field", "file", "tags"}
}

// fieldBeside reports whether a mapping has another field than some.
func fieldBeside(v yamldoc.Value, some ...string) bool {
	if !v.IsMapping() {
		return false
	}
	for k := range v.Fields() {
		if k.Kind != yaml.ScalarNode || !slices.Contains(some, k.Value) {
			return true
		}
	}
	return false
}

// text reads a text. Another value is kept as JSON.
func (d *resultsDecoder) text(v yamldoc.Value) string {
	if v.Present() && !v.IsText() {
		d.odd.note(v, "is not a text: it is kept as JSON")
		return compact(v.Node())
	}
	return v.Text()
}

// severity returns the severity that a text names.
func severity(text string) string {
	switch s := strings.ToLower(text); s {
	case SeverityError, SeverityWarning, SeverityInfo:
		return s
	case "warn":
		return SeverityWarning
	}
	return text
}

// part reports whether a part of a result is a mapping. One of another type is left out, but its
// text.
func (d *resultsDecoder) part(v yamldoc.Value) bool {
	switch {
	case v.IsText():
		d.odd.note(v, "is not a mapping: its text is taken as its name or path")
	case v.IsList():
		d.odd.note(v, "is not a mapping: it is left out")
	}
	return v.IsMapping()
}

func (d *resultsDecoder) resourceRef(v yamldoc.Value) *ResourceRef {
	if !d.part(v) {
		if v.IsText() {
			return &ResourceRef{Name: v.Text()}
		}
		return nil
	}
	d.odd.mapping(v, "apiVersion", "kind", "namespace", "name", "metadata")
	meta := v.Get("metadata")
	if meta.Present() && !meta.IsMapping() {
		d.odd.note(meta, "is not a mapping: it is left out")
		meta = yamldoc.Value{}
	}
	return &ResourceRef{
		APIVersion: d.text(v.Get("apiVersion")),
		Kind:       d.text(v.Get("kind")),
		Namespace:  cmp.Or(d.text(v.Get("namespace")), d.text(meta.Get("namespace"))),
		Name:       cmp.Or(d.text(v.Get("name")), d.text(meta.Get("name"))),
	}
}

func (d *resultsDecoder) field(v yamldoc.Value) *Field {
	if !d.part(v) {
		if v.IsText() {
			return &Field{Path: v.Text()}
		}
		return nil
	}
	d.odd.mapping(v, "path", "currentValue", "proposedValue", "suggestedValue")
	proposed := cmp.Or(v.Get("proposedValue").Node(), v.Get("suggestedValue").Node())
	return &Field{Path: d.text(v.Get("path")), CurrentValue: toAny(v.Get("currentValue").Node()), ProposedValue: toAny(proposed)}
}

// noIndex is the index of a document that is not known. The Go SDK writes it.
const noIndex = -1

func (d *resultsDecoder) file(v yamldoc.Value) *File {
	if !d.part(v) {
		if v.IsText() {
			return &File{Path: v.Text()}
		}
		return nil
	}
	d.odd.mapping(v, "path", "index")
	f := &File{Path: d.text(v.Get("path"))}
	index := v.Get("index")
	if s := d.text(index); s != "" {
		i, err := strconv.ParseFloat(s, 64)
		if err != nil || i != float64(int32(i)) || i < noIndex {
			d.odd.note(index, "is not the index of a document: it is left out")
			i = noIndex
		}
		f.Index = int(i)
	}
	return f
}

func (d *resultsDecoder) tags(v yamldoc.Value) map[string]string {
	if v.Present() && !v.IsMapping() {
		d.odd.note(v, "is not a mapping: it is left out")
	}
	if !v.IsMapping() {
		return nil
	}
	out := make(map[string]string, len(v.Node().Content)/2)
	for key, value := range v.Fields() {
		out[key.Value] = d.text(value)
	}
	return out
}

// compact returns a value of any shape as JSON in one line.
func compact(n *yaml.Node) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(toAny(n)); err != nil {
		return n.Value // toAny returns nothing that JSON does not have
	}
	return strings.TrimSpace(b.String())
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
