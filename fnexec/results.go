package fnexec

import (
	"fmt"
	"strings"
)

// The severities of the specification.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
	SeverityInfo    = "info"
)

// severityUnread is the severity of an entry that could not be read as a result. As every severity
// that nobody knows, it counts as an error where results of severity error do.
const severityUnread = "unknown"

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
