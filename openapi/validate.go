package openapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	verrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Problem is one thing in which a functionConfig is not as its schema says.
type Problem struct {
	Field   string // its path, like spec.ports[0].name; "" for the whole
	Line    int    // 1-based, of the field or what encloses it; 0 where not known
	Message string
}

// String writes the problem as line, field and message, without what is not known.
func (p Problem) String() string {
	s := p.Message
	if p.Field != "" {
		s = p.Field + ": " + s
	}
	if p.Line > 0 {
		s = "line " + strconv.Itoa(p.Line) + ": " + s
	}
	return s
}

// InvalidError says that a functionConfig does not fit its schema.
type InvalidError struct {
	Problems []Problem // by line, at least one, at most 20
	More     int       // how many there are beyond those
}

func (e *InvalidError) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}

// SchemaError says that a schema cannot be used to check anything: it is the catalog's
// fault and not the functionConfig's.
type SchemaError struct{ Err error }

func (e *SchemaError) Error() string { return "the function's schema: " + e.Err.Error() }

// Unwrap returns what is wrong with the schema.
func (e *SchemaError) Unwrap() error { return e.Err }

// Validate checks a functionConfig against a function's openAPIV3Schema. As for a
// CustomResourceDefinition, apiVersion, kind and metadata are allowed whether or not the
// schema names them; so is runtime, which is no part of a function's own schema.
//
// The error is an *InvalidError, a *SchemaError, or an error that says why one of the
// two cannot be read. References ($ref) within a schema are not supported, as in a
// CustomResourceDefinition.
func Validate(config, schema *yaml.RNode) error {
	if config.IsNil() || schema.IsNil() {
		return errors.New("checking a functionConfig: there is nothing to check, or no schema")
	}
	s, err := readSchema(schema)
	if err != nil {
		return &SchemaError{err}
	}
	r := &reader{left: maxNodes, lines: map[string]int{"": config.YNode().Line}}
	v, err := r.value(config.YNode(), "", 0)
	if err != nil {
		return fmt.Errorf("reading a functionConfig: %w", err)
	}
	if m, ok := v.(map[string]any); ok {
		dropImplied(m, s)
	}
	found, err := check(s, v)
	if err != nil {
		return &SchemaError{err}
	}
	return r.problems(found)
}

// readSchema goes through JSON, which is the library's way in.
func readSchema(n *yaml.RNode) (*spec.Schema, error) {
	r := &reader{left: maxNodes}
	v, err := r.value(n.YNode(), "", 0)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	s := &spec.Schema{}
	if err := s.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return s, nil
}

// dropImplied leaves out the fields that every functionConfig may have, unless the
// schema has an opinion about them.
func dropImplied(config map[string]any, s *spec.Schema) {
	for _, field := range []string{"apiVersion", "kind", "metadata", "runtime"} {
		if _, named := s.Properties[field]; !named && !slices.Contains(s.Required, field) {
			delete(config, field)
		}
	}
}

// check turns the library's panics (an unusable $ref) into errors: the schema is a
// stranger's.
func check(s *spec.Schema, v any) (found []error, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	found = validate.NewSchemaValidator(s, nil, "", strfmt.Default).Validate(v).Errors
	for _, e := range found {
		// The library holds this against the value.
		if v := (*verrors.Validation)(nil); errors.As(e, &v) && strings.Contains(e.Error(), "but pattern is invalid: ") {
			return nil, errors.New(Problem{Message: e.Error()}.tidy().Message)
		}
	}
	return found, nil
}

const maxProblems = 20

// problems gives the library's findings their lines, nil for none.
func (r *reader) problems(found []error) error {
	if len(found) == 0 {
		return nil
	}
	seen := make(map[Problem]bool, len(found))
	e := &InvalidError{}
	for _, err := range found {
		if p := r.problem(err).tidy(); !seen[p] {
			seen[p] = true
			e.Problems = append(e.Problems, p)
		}
	}
	// The library walks through maps, in no order.
	slices.SortFunc(e.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	if n := len(e.Problems); n > maxProblems {
		e.Problems, e.More = e.Problems[:maxProblems], n-maxProblems
	}
	return e
}

func (r *reader) problem(err error) Problem {
	v := (*verrors.Validation)(nil)
	if !errors.As(err, &v) {
		return r.composed(err.Error())
	}
	message := strings.TrimPrefix(err.Error(), v.Name)
	field := strings.TrimPrefix(v.Name, ".")
	if key, ok := v.Value.(string); ok && v.Code() == verrors.UnallowedPropertyCode {
		field, message = join(field, key), "is not a field of this kind"
	}
	message = strings.TrimPrefix(strings.TrimPrefix(message, " "), "in body ")
	return Problem{Field: field, Line: r.line(field), Message: message}
}

// tidy keeps what a stranger's schema or a config says from flooding the message or
// writing control characters to a terminal.
func (p Problem) tidy() Problem {
	const most = 300
	for _, s := range []*string{&p.Field, &p.Message} {
		if len(*s) > most {
			*s = strings.ToValidUTF8((*s)[:most], "") + "…"
		}
		if strings.ContainsFunc(*s, func(c rune) bool { return !unicode.IsPrint(c) }) {
			*s = strconv.Quote(*s)
		}
	}
	return p
}

// composed reads the messages about anyOf and its like: the path is quoted in them.
func (r *reader) composed(message string) Problem {
	quoted, err := strconv.QuotedPrefix(message)
	if err != nil {
		return Problem{Line: r.lines[""], Message: message}
	}
	field := strings.TrimPrefix(strings.Trim(quoted, `"`), ".")
	return Problem{Field: field, Line: r.line(field), Message: strings.TrimSpace(strings.TrimPrefix(message, quoted))}
}

// line is that of a field, or of the nearest one around it that is written.
func (r *reader) line(field string) int {
	for field != "" {
		if line, ok := r.lines[field]; ok {
			return line
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return r.lines[""]
}
