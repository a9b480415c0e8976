package source

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/spell"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// JSONFields lists the fields of a struct by their names in JSON, with those of embedded
// structs.
func JSONFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			for n, inner := range JSONFields(f.Type) {
				fields[n] = inner
			}
		case f.IsExported() && name != "":
			fields[name] = f.Type
		case f.IsExported():
			fields[f.Name] = f.Type
		}
	}
	return fields
}

// DidYouMean returns a similar known word as the end of a message, "" if there is none.
func DidYouMean(written string, known []string) string {
	if near := spell.Nearest(written, known); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}

// DescribeType names the YAML that a Go type reads.
func DescribeType(t reflect.Type) string {
	switch kind := t.Kind(); kind {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	case reflect.Pointer:
		return DescribeType(t.Elem())
	default:
		return "a number"
	}
}

// DescribeJSON names a type of JSON.
func DescribeJSON(json string) string {
	kind, _, _ := strings.Cut(json, " ")
	switch kind {
	case "string":
		return "text"
	case "array":
		return "a list"
	case "object":
		return "a mapping"
	case "bool":
		return "true or false"
	}
	return "a " + kind
}

// Strangers reports the fields of a document that a type does not have, at any depth. With fold,
// the case of letters is ignored, as in Go's JSON decoder.
func (d Document) Strangers(t reflect.Type, fold bool) error {
	f := &fieldCheck{ps: yamldoc.Problems{File: d.File}, fold: fold}
	f.check(d.Node, t, "")
	return SyntaxErrors(&f.ps)
}

// fieldCheck compares a document with a type.
type fieldCheck struct {
	ps   yamldoc.Problems
	fold bool
}

// check compares a mapping with a type. The decoder refuses values of another type.
func (f *fieldCheck) check(n *yaml.Node, t reflect.Type, at string) {
	switch kind := t.Kind(); {
	case kind == reflect.Pointer:
		f.check(n, t.Elem(), at)
	case kind == reflect.Slice && n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			f.check(item, t.Elem(), fmt.Sprintf("%s[%d]", at, i))
		}
	case kind == reflect.Struct && n.Kind == yaml.MappingNode:
		f.fields(n, t, at)
	}
}

func (f *fieldCheck) fields(n *yaml.Node, t reflect.Type, at string) {
	known := JSONFields(t)
	if at == "" {
		for _, name := range []string{"apiVersion", "kind"} {
			known[name] = reflect.TypeFor[string]()
		}
		if known["metadata"] == nil {
			known["metadata"] = reflect.TypeFor[types.ObjectMeta]()
		}
	}
	names := slices.Sorted(maps.Keys(known))
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		is := func(k string) bool { return k == key.Value || f.fold && strings.EqualFold(k, key.Value) }
		if which := slices.IndexFunc(names, is); which >= 0 {
			f.check(n.Content[i+1], known[names[which]], strings.TrimPrefix(at+"."+key.Value, "."))
			continue
		}
		if key.Value == "" && at == "" {
			continue // another spelling of a field, see canonical
		}
		stranger(&f.ps, key, at, names)
	}
}

// UnknownFields reports the fields of a mapping that are not known.
func (d Document) UnknownFields(n *yaml.Node, of string, known []string) error {
	ps := yamldoc.Problems{File: d.File}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; !slices.Contains(known, key.Value) {
			stranger(&ps, key, of, known)
		}
	}
	return SyntaxErrors(&ps)
}

func stranger(ps *yamldoc.Problems, key *yaml.Node, of string, known []string) {
	if of != "" {
		of = " of " + of
	}
	ps.Add(key.Line, "unknown field %q%s%s", key.Value, of, DidYouMean(key.Value, known))
}
