package yamldoc

import (
	"encoding/hex"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/spell"
)

// Value is the content of one place of a document, which may be empty. Reading it records errors
// and returns zero values for them: a caller reads all it needs, and checks for errors once. The
// zero value is empty.
type Value struct {
	node *yaml.Node // nil for an empty value
	in   *yaml.Node // the nearest node above that is not empty
	at   *Place
	told bool // the reason why it is empty has been recorded
	ps   *Problems
}

// NewValue returns a Value with Problems of its own. name is its name in errors: "exec"; "" for a
// document.
func NewValue(n *yaml.RNode, name string) Value {
	v := Value{ps: &Problems{}}
	if name != "" {
		v.at = v.at.Field(name)
	}
	if n != nil {
		v.node = n.YNode()
	}
	return v
}

// Read returns a document as a Value that records its errors in p.
func (p *Problems) Read(n *yaml.Node) Value { return Value{node: n, ps: p} }

// Err returns the first error of this value and of all values that share its Problems: an *Error.
func (s Value) Err() error {
	if s.ps == nil {
		return nil
	}
	return s.ps.First()
}

// Fail records an error at this place. The operand of %w is its cause. The error of an empty value
// is dropped if its name was misspelt, or if the value around it has a wrong type: that is recorded
// already.
func (s Value) Fail(format string, args ...any) {
	if s.ps == nil || s.node == nil && s.told && s.ps.Len() > 0 {
		return
	}
	s.ps.addAt(s.line(), s.at, format, args...)
}

// line returns the line of the value, or of the value around it.
func (s Value) line() int {
	if s.node == nil && s.in != nil {
		return s.in.Line
	}
	return s.Line()
}

// Need records an error if the value is missing or an empty text.
func (s Value) Need() {
	if s.empty() {
		s.absent().Fail("missing")
	}
}

func (s Value) empty() bool { return !s.Present() || s.IsText() && s.node.Value == "" }

// absent returns the value as an empty one.
func (s Value) absent() Value { return Value{in: s.in, at: s.at, told: s.told, ps: s.ps} }

// Misspelt reports whether the value is missing since an unknown field was taken for it.
func (s Value) Misspelt() bool { return s.node == nil && s.told }

// OneOf reads a required string that is one of these.
func (s Value) OneOf(known ...string) string {
	want := known[len(known)-1]
	if before := known[:len(known)-1]; len(before) > 0 {
		want = strings.Join(before, ", ") + " or " + want
	}
	text := s.TextOnly()
	switch {
	case slices.Contains(known, text):
		return text
	case s.empty():
		s.absent().Fail("missing, must be %s", want)
	case text != "":
		s.Fail("must be %s, not %s", want, Quote(text))
	}
	return ""
}

// Present reports whether the value is not empty and not null.
func (s Value) Present() bool { return !IsNull(s.node) }

// IsMapping reports whether the value is a mapping.
func (s Value) IsMapping() bool { return s.Present() && s.node.Kind == yaml.MappingNode }

// IsList reports whether the value is a list.
func (s Value) IsList() bool { return s.Present() && s.node.Kind == yaml.SequenceNode }

// IsText reports whether the value is a scalar.
func (s Value) IsText() bool { return s.Present() && s.node.Kind == yaml.ScalarNode }

// Node returns the node, which may be changed in place; nil for an empty value.
func (s Value) Node() *yaml.Node { return s.node }

// Place returns the path of the value.
func (s Value) Place() *Place { return s.at }

// Line returns the line of the value, 1-based; 0 for an empty one.
func (s Value) Line() int {
	if s.node == nil {
		return 0
	}
	return s.node.Line
}

// must records a wrong type.
func (s Value) must(what string) {
	s.Fail("must be %s, not %s", what, Describe(s.node))
}

// Map reports whether the value is a mapping. Another type is an error, an empty value is not.
func (s Value) Map() bool {
	if s.Present() && !s.IsMapping() {
		s.must("a mapping")
	}
	return s.IsMapping()
}

// Only refuses fields other than these. The error has the nearest known name.
func (s Value) Only(known ...string) {
	for key, v := range s.Fields() {
		switch {
		case !slices.Contains(known, key.Value):
			s.unknown(key, known)
		case Field(s.node, key.Value) != v.node && s.ps.Len() == 0: // otherwise the parser has reported it
			Value{node: key, at: v.at, ps: s.ps}.Fail("it is given twice")
		}
	}
}

func (s Value) unknown(key *yaml.Node, known []string) {
	if s.ps == nil || s.ps.full() {
		s.Fail("") // it is only counted
		return
	}
	at := Value{node: key, at: s.at, ps: s.ps}
	near := spell.Nearest(key.Value, known)
	if near == "" {
		at.Fail("unknown field %s, known are %s", Quote(key.Value), strings.Join(known, ", "))
		return
	}
	at.Fail("unknown field %s, did you mean %q?", Quote(key.Value), near)
	if s.ps.meant == nil {
		s.ps.meant = map[*yaml.Node][]string{}
	}
	s.ps.meant[s.node] = append(s.ps.meant[s.node], near)
}

// Exactly is Only, and refuses known fields without a value. It is for fields that restrict: one
// that was left empty by mistake must not count as missing.
func (s Value) Exactly(known ...string) {
	s.Only(known...)
	for key, v := range s.Fields() {
		if !v.Present() {
			Value{node: key, at: v.at, ps: s.ps}.Fail("it has no value")
		}
	}
}

// Get returns a field.
func (s Value) Get(name string) Value {
	v := Value{node: Field(s.node, name), in: s.in, at: s.at.Field(name), told: s.told, ps: s.ps}
	if s.Present() {
		v.in = s.node
		v.told = !s.IsMapping() || s.ps != nil && slices.Contains(s.ps.meant[s.node], name)
	}
	return v
}

// Fields returns the fields of a mapping, in the order written. If an error is recorded, it leaves
// out keys that are no text: the parser has reported them.
func (s Value) Fields() iter.Seq2[*yaml.Node, Value] {
	return func(yield func(*yaml.Node, Value) bool) {
		if !s.Map() {
			return
		}
		for i := 0; i+1 < len(s.node.Content); i += 2 {
			key := s.node.Content[i]
			if (key.Kind != yaml.ScalarNode || key.ShortTag() == yaml.MergeTag) && s.Err() != nil {
				continue
			}
			v := Value{node: s.node.Content[i+1], in: s.node, at: s.at.Field(key.Value), ps: s.ps}
			if !yield(key, v) {
				return
			}
		}
	}
}

// Each returns the entries of a list.
func (s Value) Each() []Value {
	if !s.IsList() {
		if s.Present() {
			s.must("a list")
		}
		return nil
	}
	out := make([]Value, len(s.node.Content))
	for i, n := range s.node.Content {
		out[i] = Value{node: n, in: s.node, at: s.at.Item(i), ps: s.ps}
	}
	return out
}

// Text returns a scalar as written, "" for an empty value.
func (s Value) Text() string {
	if !s.IsText() {
		if s.Present() {
			s.must("a string")
		}
		return ""
	}
	return s.node.Value
}

// TextOnly returns a string, "" for an empty value. It refuses true, 7 and the like unless they are
// quoted.
func (s Value) TextOnly() string {
	if !s.IsText() || s.node.ShortTag() == yaml.NodeTagString {
		return s.Text()
	}
	s.Fail("must be a string, not %s, quote it", Describe(s.node))
	return ""
}

// Texts returns a list of scalars, as written.
func (s Value) Texts() []string {
	var out []string
	for _, e := range s.Each() {
		if !e.Present() {
			e.must("a string")
		}
		out = append(out, e.Text())
	}
	return out
}

// Pairs returns a mapping of names to scalars, as written.
func (s Value) Pairs() map[string]string {
	if !s.Map() {
		return nil
	}
	out := make(map[string]string, len(s.node.Content)/2)
	for key, v := range s.Fields() {
		out[key.Value] = v.Text()
	}
	return out
}

// Bool returns true or false, false for an empty value.
func (s Value) Bool() bool {
	if !s.Present() {
		return false
	}
	if s.node.Kind == yaml.ScalarNode && s.node.ShortTag() == yaml.NodeTagBool {
		switch strings.ToLower(s.node.Value) {
		case "true":
			return true
		case "false":
			return false
		}
	}
	s.must("true or false")
	return false
}

// Time returns a date, as 2026-01-31, or a time, as 2026-01-31T12:00:00Z. For a date it is the
// beginning of the day in UTC, and whole is true. For an empty value it is the zero time.
func (s Value) Time() (t time.Time, whole bool) {
	text := s.Text()
	if !s.Present() {
		return t, false
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, true
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		s.Fail("%q is neither a day, as 2026-01-31, nor a moment, as 2026-01-31T12:00:00Z", text)
		return time.Time{}, false
	}
	return t.UTC(), false
}

// Digest returns a sha256 of 64 hex digits, with or without "sha256:"; "" for an empty value.
func (s Value) Digest() digest.Digest {
	t := s.Text()
	if t == "" {
		return ""
	}
	h := strings.ToLower(strings.TrimPrefix(t, "sha256:"))
	if b, err := hex.DecodeString(h); err != nil || len(b) != 32 {
		s.Fail("%q is not a sha256, which is 64 hexadecimal digits", t)
		return ""
	}
	return digest.NewDigestFromEncoded(digest.SHA256, h)
}

// Set sets a field to a string.
func (s Value) Set(name, value string) {
	if s.node == nil || s.node.Kind != yaml.MappingNode {
		return
	}
	if i := FieldIndex(s.node, name); i >= 0 {
		v := Text(value)
		v.LineComment = s.node.Content[i+1].LineComment
		s.node.Content[i+1] = v
		return
	}
	s.node.Content = append(s.node.Content, Text(name), Text(value))
}

// Rename renames a field.
func (s Value) Rename(name, to string) {
	if i := FieldIndex(s.node, name); i >= 0 {
		s.node.Content[i].Value = to
	}
}
