package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
)

// Forms are the formats that a command can print in, the default first.
type Forms []string

const (
	templatePrefix = "go-template="
	jsonpathPrefix = "jsonpath="
)

// Data returns the forms of any value.
func Data() Forms { return Forms{"table", "json", "yaml", templatePrefix, jsonpathPrefix} }

// Drawn returns the forms of a Grapher.
func Drawn() Forms {
	return Forms{"yaml", "json", "table", "graph", "mermaid", "dot", templatePrefix, jsonpathPrefix}
}

// Resources returns the forms of Kubernetes resources.
func Resources() Forms { return Forms{"yaml", "json", templatePrefix, jsonpathPrefix} }

// String lists the forms as they are written.
func (f Forms) String() string {
	words := make([]string, len(f))
	for i, name := range f {
		if words[i] = name; strings.HasSuffix(name, "=") {
			words[i] += "TEMPLATE"
		}
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Names reports whether text is one of the forms, or one with a template.
func (f Forms) Names(text string) bool {
	name, _, _ := strings.Cut(text, "=")
	return slices.ContainsFunc(f, func(form string) bool {
		return text == form || name+"=" == form
	})
}

// Check checks a format before the work for it is done. The error is a *FormatError.
func (f Forms) Check(format string) error {
	if !slices.Contains(f, format) || strings.HasSuffix(format, "=") {
		_, err := f.parse(format)
		return err
	}
	return nil
}

// Tabler is a value that has a table for people. Other values are shown as YAML.
type Tabler interface{ Table() Table }

// YAMLer is a value with a YAML form of its own, for example with comments.
type YAMLer interface{ YAML() ([]byte, error) }

// FormatError reports an unknown format, or an error in its template.
type FormatError struct {
	Format string
	Err    error // nil if the format is unknown
	Known  Forms // the known formats
}

// Loose is a value whose fields are not known, so that a template may use any name.
type Loose interface{ Loose() }

// Error has the format, and the known formats.
func (e *FormatError) Error() string {
	if e.Err != nil {
		return e.Err.Error() // its text says that it is of a template
	}
	return fmt.Sprintf("unknown format %q: use %s", e.Format, e.Known)
}

// Is implements the kind of the error for errors.Is.
func (*FormatError) Is(kind error) bool { return kind == failure.Usage }

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// drawn reports whether a format is one of a Grapher.
func drawn(format string) bool { return format == "graph" || format == "mermaid" || format == "dot" }

// executor writes a value by a parsed template.
type executor func(w io.Writer, v any, loose bool) error

// parse parses a format with a template.
func (f Forms) parse(format string) (executor, error) {
	name, text, ok := strings.Cut(format, "=")
	if !ok || !slices.Contains(f, name+"=") {
		return nil, &FormatError{Format: format, Known: f}
	}
	if name+"=" == jsonpathPrefix {
		j := jsonpath.New("jsonpath")
		if err := j.Parse(text); err != nil {
			return nil, &FormatError{Format: format, Err: fmt.Errorf("jsonpath: %w", err)}
		}
		return func(w io.Writer, v any, loose bool) error {
			if err := j.AllowMissingKeys(loose).Execute(w, v); err != nil {
				return fmt.Errorf("jsonpath: %w", err)
			}
			return nil
		}, nil
	}
	t, err := template.New("go-template").Parse(text)
	if err != nil {
		return nil, &FormatError{Format: format, Err: err}
	}
	return func(w io.Writer, v any, loose bool) error {
		if !loose {
			t.Option("missingkey=error")
		}
		return t.Execute(w, v)
	}, nil
}

// Print writes v in a format. In templates, fields have the names of the JSON, and fields that the
// JSON omits are empty. In case of an error nothing is written.
func Print(w io.Writer, format string, v any) error {
	data, err := encode(format, v)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// PrintColoured writes the table of v with colours. Text of others in it is made safe for a
// terminal.
func PrintColoured(w io.Writer, v Tabler) error {
	_, err := w.Write(v.Table().bytes(true))
	return err
}

func encode(format string, v any) ([]byte, error) {
	switch format {
	case "table":
		if t, ok := v.(Tabler); ok {
			return t.Table().bytes(false), nil
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
	execute, err := Data().parse(format)
	if err != nil {
		return nil, err
	}
	generic, err := plain(v)
	if err != nil {
		return nil, err
	}
	_, loose := v.(Loose)
	var b bytes.Buffer
	if err := execute(&b, generic, loose); err != nil {
		return nil, &FormatError{Format: format, Err: err}
	}
	return b.Bytes(), nil
}

func indented(v any) ([]byte, error) {
	data, err := marshal(v, "  ")
	return escaped(data, unsafe, code), err
}

// marshal returns v as JSON without escapes for HTML, which templates and URLs do not need.
func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// YAML prints v as sigs.k8s.io/yaml does, but long lines are not wrapped, and a text with
// characters that YAML does not allow, or that are not safe for a terminal, is in double quotes
// with escapes. The printer of the library never escapes characters such as U+202E, and lines of a
// text that begin with a tab cannot be read back, so a name stands for such a text while it prints.
func YAML(v any) ([]byte, error) {
	v, err := decoded(v) // as JSON a type may give other escapes
	if err != nil {
		return nil, err
	}
	data, err := marshal(v, "")
	if err != nil {
		return nil, err
	}
	odd := func(r rune) bool { return unsafe(r) || r == 0xfffe || r == 0xffff }
	escapes := regexp.MustCompile(`[^\\](?:\\\\)*\\(?:t|u202[89])`) // the printer drops them
	quoted := func(text []byte) bool { return bytes.ContainsFunc(text, odd) || escapes.Match(text) }
	name := "text"
	for bytes.Contains(data, []byte(name)) {
		name += "_"
	}
	var texts []string // in turn a name, and what it stands for
	data = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).ReplaceAllFunc(data, func(text []byte) []byte {
		if !quoted(text) {
			return text
		}
		alias := fmt.Sprintf("%s%d.", name, len(texts))
		texts = append(texts, alias, string(escaped(text, odd, yamlCode)))
		return []byte(`"` + alias + `"`)
	})
	var named any
	if err := yaml.Unmarshal(data, &named); err != nil {
		return nil, err
	}
	if data, err = yaml.Marshal(named); err != nil {
		return nil, err
	}
	return []byte(strings.NewReplacer(texts...).Replace(string(data))), nil
}

// yamlCode returns a character as an escape of YAML, which has no surrogate pairs.
func yamlCode(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// escaped returns JSON with escapes for some characters, which occur only in strings.
func escaped(data []byte, which func(rune) bool, escape func(rune) string) []byte {
	if !bytes.ContainsFunc(data, which) {
		return data
	}
	var b bytes.Buffer
	for _, r := range string(data) {
		if !which(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(escape(r))
	}
	return b.Bytes()
}

// plain returns v as maps and lists, with all fields.
func plain(v any) (any, error) {
	out, err := decoded(v)
	if err != nil {
		return nil, err
	}
	out = numbers(out)
	complete(reflect.ValueOf(v), out)
	return out, nil
}

// decoded returns v as maps and lists, with the numbers as they are in JSON.
func decoded(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	err = dec.Decode(&out)
	return out, err
}

// numbers converts whole numbers to integers, so that templates print and compare them as they are
// written.
func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, one := range v {
			v[key] = numbers(one)
		}
	case []any:
		for i, one := range v {
			v[i] = numbers(one)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	}
	return v
}
