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

// Value is what is written at one place of a document, nothing included. What is wrong with it is
// recorded, and read as nothing: a caller reads all it wants, and asks for the problems once. The
// zero value is nothing.
type Value struct {
	node *yaml.Node // nil for nothing
	in   *yaml.Node // the next node above that is there
	at   *Place
	told bool // why nothing is written has been recorded
	ps   *Problems
}

// NewValue begins to read a value by itself. name is what errors call it: "exec"; "" for a document.
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

// Read begins to read a document of the file that the problems are of.
func (p *Problems) Read(n *yaml.Node) Value { return Value{node: n, ps: p} }

// Err returns the first problem of this value and of all that was read together with it: an
// *Error.
func (s Value) Err() error {
	if s.ps == nil {
		return nil
	}
	return s.ps.First()
}

// Fail records a problem at this place. What %w names is its cause. Where nothing is written,
// because its name was misspelt or what it should stand in has another type, that was recorded
// already and is enough.
func (s Value) Fail(format string, args ...any) {
	if s.ps == nil || s.node == nil && s.told && s.ps.Len() > 0 {
		return
	}
	s.ps.addAt(s.line(), s.at, format, args...)
}

// line is where it stands, or what it should stand in.
func (s Value) line() int {
	if s.node == nil && s.in != nil {
		return s.in.Line
	}
	return s.Line()
}

// Need records that the value is missing, where nothing or an empty text is written.
func (s Value) Need() {
	if s.empty() {
		s.absent().Fail("missing")
	}
}

func (s Value) empty() bool { return !s.Present() || s.IsText() && s.node.Value == "" }

// absent is the value as if nothing were written there.
func (s Value) absent() Value { return Value{in: s.in, at: s.at, told: s.told, ps: s.ps} }

// Misspelt reports whether nothing is written there because an unknown field was taken for it.
func (s Value) Misspelt() bool { return s.node == nil && s.told }

// OneOf reads a string that has to be there and is one of these.
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

// Present reports whether something is written there.
func (s Value) Present() bool { return !IsNull(s.node) }

// IsMapping reports whether a mapping is written there.
func (s Value) IsMapping() bool { return s.Present() && s.node.Kind == yaml.MappingNode }

// IsList reports whether a list is written there.
func (s Value) IsList() bool { return s.Present() && s.node.Kind == yaml.SequenceNode }

// IsText reports whether a scalar is written there.
func (s Value) IsText() bool { return s.Present() && s.node.Kind == yaml.ScalarNode }

// Node returns what is written there, to be changed in place; nil where nothing is.
func (s Value) Node() *yaml.Node { return s.node }

// Line is where it stands, 1-based; 0 where nothing is.
func (s Value) Line() int {
	if s.node == nil {
		return 0
	}
	return s.node.Line
}

// must records another type than the one that is wanted.
func (s Value) must(what string) {
	s.Fail("must be %s, not %s", what, Describe(s.node))
}

// Map reports whether a mapping is written there, and records anything else as a problem. Where
// nothing is written it is no mapping, and no problem.
func (s Value) Map() bool {
	if s.Present() && !s.IsMapping() {
		s.must("a mapping")
	}
	return s.IsMapping()
}

// Only refuses fields other than these, and names the nearest.
func (s Value) Only(known ...string) {
	for key, v := range s.Fields() {
		switch {
		case !slices.Contains(known, key.Value):
			s.unknown(key, known)
		case Field(s.node, key.Value) != v.node && s.ps.Len() == 0: // else it was recorded when the text was parsed
			Value{node: key, at: v.at, ps: s.ps}.Fail("it is given twice")
		}
	}
}

func (s Value) unknown(key *yaml.Node, known []string) {
	if s.ps == nil || s.ps.full() {
		s.Fail("") // is counted
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

// Exactly is Only, and refuses a known field without a value: where the field makes things
// stricter, one that was forgotten must not pass for one that is not there.
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

// Fields returns the fields of a mapping, in the order written. It leaves out those whose name is
// no text, if a problem was recorded, as it was when the text was parsed.
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

// Text reads a scalar as it is written, "" where nothing is.
func (s Value) Text() string {
	if !s.IsText() {
		if s.Present() {
			s.must("a string")
		}
		return ""
	}
	return s.node.Value
}

// TextOnly reads a string, "" where nothing is: true, 7 and the like are refused unless they are
// quoted.
func (s Value) TextOnly() string {
	if !s.IsText() || s.node.ShortTag() == yaml.NodeTagString {
		return s.Text()
	}
	s.Fail("must be a string, not %s, quote it", Describe(s.node))
	return ""
}

// Texts reads a list of scalars, as they are written.
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

// Pairs reads a mapping of names to scalars, as they are written.
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

// Bool reads true or false, false where nothing is.
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

// Time reads a day, as 2026-01-31, or a moment, as 2026-01-31T12:00:00Z. Of a day it is the
// beginning, in UTC, and whole is true. The zero time is where nothing is.
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

// Digest reads a sha256: 64 hex digits, with or without "sha256:". It is "" where
// nothing is.
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

// Set writes a string field, in place of what was there.
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

// Rename gives a field another name, and leaves its value.
func (s Value) Rename(name, to string) {
	if i := FieldIndex(s.node, name); i >= 0 {
		s.node.Content[i].Value = to
	}
}
