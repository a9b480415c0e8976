package ui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/template"
	"unicode/utf16"

	"sigs.k8s.io/yaml"
)

// Formats is what Print understands, as a help text.
const Formats = "table, json, yaml or go-template=TEMPLATE"

// GraphFormats is what Print understands where the value is a Grapher too, as a help text.
const GraphFormats = "graph (Mermaid and DOT), mermaid, dot, " + Formats

const templatePrefix = "go-template="

// Tabler is a value that has a form for people. A value without one is shown as YAML.
type Tabler interface{ Table() Table }

// YAMLer is a value that is more as YAML than its JSON would be: with comments.
type YAMLer interface{ YAML() ([]byte, error) }

// FormatError says that a format is none, or that its template is not one.
type FormatError struct {
	Format string
	Err    error  // nil where the format is unknown
	Known  string // the formats that there are; Formats where empty
}

func (e *FormatError) Error() string {
	if e.Err != nil {
		return e.Err.Error() // says itself that it is of a template
	}
	return fmt.Sprintf("no output format %q: it is %s", e.Format, cmp.Or(e.Known, Formats))
}

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// Check tells whether Print understands a format, before work is done for it. The error
// is a *FormatError.
func Check(format string) error {
	switch format {
	case "table", "json", "yaml":
		return nil
	}
	_, err := parse(format)
	return err
}

// drawn tells the formats of a Grapher.
func drawn(format string) bool { return format == "graph" || format == "mermaid" || format == "dot" }

// CheckGraph is Check for a value that is a Grapher.
func CheckGraph(format string) error {
	if drawn(format) {
		return nil
	}
	err := Check(format)
	if unknown, ok := err.(*FormatError); ok && unknown.Err == nil { //nolint:errorlint // Check gives it as it is
		unknown.Known = GraphFormats
	}
	return err
}

func parse(format string) (*template.Template, error) {
	text, ok := strings.CutPrefix(format, templatePrefix)
	if !ok {
		return nil, &FormatError{Format: format}
	}
	t, err := template.New("output").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, &FormatError{Format: format, Err: err}
	}
	return t, nil
}

// Print writes v in a format. Templates see it as its JSON does: the names of fields are
// those of the JSON, and fields that it leaves out are empty. Nothing is written where it cannot be printed.
func Print(w io.Writer, format string, v any) error {
	data, err := encode(format, v)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

func encode(format string, v any) ([]byte, error) {
	switch format {
	case "table":
		if t, ok := v.(Tabler); ok {
			return t.Table().bytes(), nil
		}
		return YAML(v)
	case "yaml":
		if y, ok := v.(YAMLer); ok {
			return y.YAML()
		}
		return YAML(v)
	case "json":
		return indented(v)
	}
	if g, ok := v.(Grapher); ok && drawn(format) {
		return g.Graph().print(format), nil
	}
	t, err := parse(format)
	if err != nil {
		return nil, err
	}
	generic, err := plain(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, generic); err != nil {
		return nil, &FormatError{Format: format, Err: err}
	}
	return b.Bytes(), nil
}

func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // templates and URLs are read by people
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return escaped(b.Bytes(), unsafe), nil
}

// YAML is yaml.Marshal, for text with characters that JSON has as they are and YAML refuses.
func YAML(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	const lastShort, noCharacters = 0xffff, 0xfffe // YAML has no pairs of escapes
	return yaml.JSONToYAML(escaped(data, func(r rune) bool { return r <= lastShort && (unsafe(r) || r >= noCharacters) }))
}

// escaped is JSON that says the same with escapes for some characters, none of which stands
// outside of strings.
func escaped(data []byte, which func(rune) bool) []byte {
	if !bytes.ContainsFunc(data, which) {
		return data
	}
	var b bytes.Buffer
	for _, r := range string(data) {
		if !which(r) {
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.Bytes()
}

// plain is v as maps and lists, with every field that it has.
func plain(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	if err = json.Unmarshal(data, &out); err == nil {
		complete(reflect.ValueOf(v), out)
	}
	return out, err
}
