package yamldoc

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/spell"
)

// Error is something wrong, at a place.
type Error struct {
	Field string // runtime.exec.platforms[1].os
	Line  int    // 1-based, in the file; 0 where not known
	Msg   string
	Err   error // the cause, nil where Msg says it all
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Text())
	}
	return e.Text()
}

// Text is what is wrong with which field, without the line.
func (e *Error) Text() string {
	field := strings.TrimPrefix(e.Field, ".") // of a whole file
	if field == "" {
		return e.Msg
	}
	return field + ": " + e.Msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Spec reads a mapping, strictly. The zero value is a spec that is absent; the
// first error is kept, and what is read after it is empty.
type Spec struct {
	node *yaml.Node
	path string
	err  *error
}

// NewSpec begins to read a spec. path is what errors call it: "exec".
func NewSpec(n *yaml.RNode, path string) Spec {
	var err error
	s := Spec{path: path, err: &err}
	if n != nil {
		s.node = n.YNode()
	}
	return s
}

// Err returns the first error of this spec and all that was reached from it: a
// *Error.
func (s Spec) Err() error {
	if s.err == nil {
		return nil
	}
	return *s.err
}

// Fail records an error at this place, unless there was one before. What %w names is its
// cause.
func (s Spec) Fail(format string, args ...any) {
	if s.err == nil || *s.err != nil {
		return
	}
	msg := fmt.Errorf(format, args...)
	e := &Error{Field: s.path, Msg: msg.Error(), Err: errors.Unwrap(msg)}
	if s.node != nil {
		e.Line = s.node.Line
	}
	*s.err = e
}

// Present reports whether something is written there.
func (s Spec) Present() bool { return s.node != nil && !IsNull(s.node) }

// IsMapping reports whether a mapping is written there.
func (s Spec) IsMapping() bool { return s.Present() && s.node.Kind == yaml.MappingNode }

// IsList reports whether a list is written there.
func (s Spec) IsList() bool { return s.Present() && s.node.Kind == yaml.SequenceNode }

// IsText reports whether a scalar is written there.
func (s Spec) IsText() bool { return s.Present() && s.node.Kind == yaml.ScalarNode }

// Node returns what is written there, to be changed in place; nil where nothing is.
func (s Spec) Node() *yaml.Node { return s.node }

// Only refuses fields other than these, and names the nearest.
func (s Spec) Only(known ...string) {
	if !s.Present() {
		return
	}
	if !s.IsMapping() {
		s.Fail("it has to be a mapping")
		return
	}
	for i := 0; i+1 < len(s.node.Content); i += 2 {
		k := s.node.Content[i]
		if slices.Contains(known, k.Value) {
			if FieldIndex(s.node, k.Value) < i {
				Spec{k, s.path + "." + k.Value, s.err}.Fail("it is given twice")
			}
			continue
		}
		at := Spec{k, s.path + "." + k.Value, s.err}
		if n := spell.Nearest(k.Value, known); n != "" {
			at.Fail("unknown field, is it %s?", n)
		}
		at.Fail("unknown field, known are %s", strings.Join(known, ", "))
	}
}

// Exactly is Only, and refuses a known field without a value: where the field makes things
// stricter, one that was forgotten must not pass for one that is not there.
func (s Spec) Exactly(known ...string) {
	s.Only(known...)
	if !s.IsMapping() {
		return
	}
	for i := 0; i+1 < len(s.node.Content); i += 2 {
		if k := s.node.Content[i]; IsNull(s.node.Content[i+1]) {
			Spec{k, s.path + "." + k.Value, s.err}.Fail("it has no value")
		}
	}
}

// Get returns a field.
func (s Spec) Get(name string) Spec {
	return Spec{Field(s.node, name), s.path + "." + name, s.err}
}

// Each returns the entries of a list.
func (s Spec) Each() []Spec {
	if !s.Present() {
		return nil
	}
	if !s.IsList() {
		s.Fail("it has to be a list")
		return nil
	}
	out := make([]Spec, len(s.node.Content))
	for i, n := range s.node.Content {
		out[i] = Spec{n, fmt.Sprintf("%s[%d]", s.path, i), s.err}
	}
	return out
}

// Text reads a string, "" where nothing is.
func (s Spec) Text() string {
	if !s.Present() {
		return ""
	}
	if !s.IsText() {
		s.Fail("it has to be a string")
		return ""
	}
	return s.node.Value
}

// Words is Text for what is meant to be read: true, 7 and the like are refused unless they
// are quoted.
func (s Spec) Words() string {
	if t := s.Text(); t == "" || s.node.ShortTag() == yaml.NodeTagString {
		return t
	}
	s.Fail("it has to be words, quote it")
	return ""
}

// Texts reads a list of strings.
func (s Spec) Texts() []string {
	var out []string
	for _, e := range s.Each() {
		if !e.IsText() {
			e.Fail("it has to be a string")
		}
		out = append(out, e.Text())
	}
	return out
}

// Bool reads true or false, false where nothing is.
func (s Spec) Bool() bool {
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
	s.Fail("it has to be true or false")
	return false
}

// Time reads a day, as 2026-01-31, or a moment, as 2026-01-31T12:00:00Z. Of a day it is the
// beginning, in UTC, and whole is true. The zero time is where nothing is.
func (s Spec) Time() (t time.Time, whole bool) {
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
func (s Spec) Digest() digest.Digest {
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
func (s Spec) Set(name, value string) {
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
func (s Spec) Rename(name, to string) {
	if i := FieldIndex(s.node, name); i >= 0 {
		s.node.Content[i].Value = to
	}
}

// Line is where it stands, 1-based; 0 where nothing is.
func (s Spec) Line() int {
	if s.node == nil {
		return 0
	}
	return s.node.Line
}
