package catalog

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/spell"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// Severity is the severity of a Finding.
type Severity string

// The severities. An error makes Decode or a render fail. A warning is about what KEP-2906 requires
// and no render needs.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Finding is one result of Lint.
type Finding struct {
	Line     int      `json:"line"` // 1-based; 0 if unknown
	Severity Severity `json:"severity"`
	Field    string   `json:"field,omitempty"` // its name, "" for the whole catalog
	Message  string   `json:"message"`
}

// Lint checks a catalog against the schema of KEP-2906, which requires more than a render does.
// Findings are sorted by line. A catalog without faults has none.
func Lint(name string, data []byte) []Finding {
	d := decode(name, data)
	l := &linter{}
	for _, e := range d.ps.Sorted() {
		l.add(e.Line, SeverityError, "", "%s", e.Text())
	}
	l.functions(d.c.Functions)
	for _, b := range d.blocks {
		l.runtimes(b)
	}
	slices.SortStableFunc(l.found, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return l.found
}

type linter struct{ found []Finding }

func (l *linter) add(line int, s Severity, field, format string, args ...any) {
	l.found = append(l.found, Finding{Line: line, Severity: s, Field: field, Message: fmt.Sprintf(format, args...)})
}

func (l *linter) functions(functions []Function) {
	type known struct {
		FunctionID
		name string
	}
	first := make(map[known]int, len(functions))
	replaced := make(map[[2]string]int)
	named := make(map[string]entry)
	for i := range functions {
		f := &functions[i]
		if i == 0 || f.entry != functions[i-1].entry {
			l.entry(f, named)
		}
		l.version(f)
		if i == 0 || f.ID != functions[i-1].ID || f.entry != functions[i-1].entry {
			l.replaces(f, replaced)
		}
		id := known{f.ID, f.Called()}
		if line, ok := first[id]; ok {
			l.add(f.Line, SeverityWarning, "name", "%s is already in line %d, which wins", plain(f.ID.String()), line)
			continue
		}
		first[id] = f.Line
	}
}

// replaces checks that what a function replaces is not replaced by another one of its type before,
// which wins. Ranges of versions are compared as they are written.
func (l *linter) replaces(f *Function, before map[[2]string]int) {
	for _, r := range f.Replaces {
		which := slices.Clone(r.Tags)
		if r.Versions != "" {
			which = append(which, r.Versions)
		}
		for _, w := range which {
			key := [2]string{f.ID.String() + " " + r.place.String(), w}
			if line, ok := before[key]; ok {
				l.add(r.Line, SeverityWarning, "replaces", "%s %s is already replaced in line %d, which wins", plain(r.Image), plain(w), line)
				continue
			}
			before[key] = r.Line
		}
	}
}

// entry checks what all versions of a function share. named are the names so far.
func (l *linter) entry(f *Function, named map[string]entry) {
	l.require(f.entry.line, "description", f.Description != "")
	l.require(f.entry.line, "publisher", f.Publisher != "")
	if f.Name == "" {
		return
	}
	if before, ok := named[f.Name]; ok {
		l.add(f.entry.line, SeverityError, "name", "the name %s is already in line %d: it has to tell functions apart", plain(f.Name), before.line)
		return
	}
	named[f.Name] = f.entry
}

func (l *linter) require(line int, field string, there bool) {
	if !there {
		l.add(line, SeverityWarning, field, "%s is missing", field)
	}
}

func (l *linter) version(f *Function) {
	l.require(f.Line, "schema", f.Schema != nil)
	l.require(f.Line, "idempotent", f.Idempotent != nil)
	l.require(f.Line, "usage", f.Usage != "")
	l.require(f.Line, "examples", len(f.Examples) > 0)
	l.require(f.Line, "license", f.License != "")
	if f.License != "" && !isLicense(f.License) {
		l.add(f.Line, SeverityWarning, "license", "%s is not a common SPDX license id", yamldoc.Quote(f.License))
	}
	if len(f.Runtimes) == 0 {
		l.add(f.Line, SeverityError, "runtime", "runtime is missing: the function cannot be run")
	}
}

// isLicense reports whether s is made of SPDX ids that functions are likely to have, or is the
// spelling of the KEP.
func isLicense(s string) bool {
	known := []string{
		"Apache 2.0", "Apache-2.0", "MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Zlib",
		"MPL-2.0", "EPL-2.0", "GPL-2.0-only", "GPL-2.0-or-later", "GPL-3.0-only", "GPL-3.0-or-later",
		"LGPL-2.1-only", "LGPL-2.1-or-later", "LGPL-3.0-only", "LGPL-3.0-or-later",
		"AGPL-3.0-only", "AGPL-3.0-or-later", "BSL-1.0", "BUSL-1.1", "CC0-1.0", "Unlicense",
	}
	for _, part := range strings.FieldsFunc(strings.ReplaceAll(s, " OR ", "|"), func(r rune) bool { return r == '|' }) {
		if !slices.Contains(known, strings.TrimSpace(part)) {
			return false
		}
	}
	return true
}

// runtimes checks the runtimes that the KEP describes, and ignores others that are not one of these
// misspelt.
func (l *linter) runtimes(b block) {
	for i := 0; i < len(b.node.Content); i += 2 {
		key := b.node.Content[i]
		if meant := spell.Nearest(key.Value, []string{"container", "exec", "starlark"}); meant != "" && meant != key.Value {
			l.add(key.Line, SeverityWarning, "runtime", "the runtime %s is unknown, did you mean %q?", yamldoc.Quote(key.Value), meant)
		}
	}
	l.container(yamldoc.Field(b.node, "container"))
	exec := yamldoc.Field(b.node, "exec")
	if exec == nil {
		return
	}
	list := exec
	if exec.Kind == yaml.MappingNode {
		list = yamldoc.Field(exec, "platforms")
	}
	if list == nil || list.Kind == yaml.ScalarNode {
		if l.reference(exec) {
			return
		}
	}
	if list == nil || list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		l.add(exec.Line, SeverityError, "exec", "exec has no platforms")
		return
	}
	for _, p := range list.Content {
		l.platform(p, exec.Kind == yaml.MappingNode)
	}
}

// reference checks an exec runtime that is a single reference, to an index of programs or to one
// program for every platform. It reports whether exec is one.
func (l *linter) reference(exec *yaml.Node) bool {
	ref := exec.Value
	for _, name := range []string{"uri", "oci", "url", "path"} {
		if exec.Kind == yaml.MappingNode && ref == "" {
			ref = scalar(exec, name)
		}
	}
	if ref == "" {
		return false
	}
	if !strings.Contains(ref, "@sha256:") && scalar(exec, "sha256") == "" {
		l.add(exec.Line, SeverityError, "sha256", "exec needs a sha256, or a reference with a digest")
	}
	return true
}

func (l *linter) container(n *yaml.Node) {
	if n == nil {
		return
	}
	image := scalar(n, "image")
	if image == "" {
		l.add(n.Line, SeverityError, "image", "container has no image")
		return
	}
	semver := regexp.MustCompile(`:v?\d+\.\d+\.\d+([-+.][0-9A-Za-z.+_-]+)?$`).MatchString(image)
	if semver && scalar(n, "sha256") == "" && !strings.Contains(image, "@sha256:") {
		l.add(n.Line, SeverityWarning, "sha256", "an image with a version needs its sha256")
	}
}

func (l *linter) platform(n *yaml.Node, full bool) {
	if n.Kind != yaml.MappingNode {
		l.add(n.Line, SeverityError, "exec", "a platform must be a mapping, not %s", yamldoc.Describe(n))
		return
	}
	if scalar(n, "sha256") == "" && !strings.Contains(scalar(n, "uri"), "@sha256:") {
		l.add(n.Line, SeverityError, "sha256", "an exec function needs its sha256")
	}
	if !full {
		return
	}
	for _, field := range []string{"bin", "uri"} {
		l.require(n.Line, field, scalar(n, field) != "")
	}
	l.oneOf(n, "os", "linux", "darwin", "windows")
	l.oneOf(n, "arch", "amd64", "arm64")
}

func (l *linter) oneOf(n *yaml.Node, field string, allowed ...string) {
	s := scalar(n, field)
	l.require(n.Line, field, s != "")
	if s != "" && !slices.Contains(allowed, s) {
		l.add(n.Line, SeverityWarning, field, "%s is %s, KEP-2906 has %s", field, yamldoc.Quote(s), strings.Join(allowed, ", "))
	}
}

// scalar returns the text of a field of a mapping, "" for none.
func scalar(n *yaml.Node, name string) string {
	v := yamldoc.Field(n, name)
	if v == nil || v.Kind != yaml.ScalarNode || yamldoc.IsNull(v) {
		return ""
	}
	return v.Value
}
