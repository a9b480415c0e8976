package openapi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/openapi"
)

const schema = `
type: object
required: [spec]
additionalProperties: false
properties:
  spec:
    type: object
    required: [size, owner.name]
    additionalProperties: false
    properties:
      size: {type: integer, minimum: 1, maximum: 10}
      ratio: {type: number, exclusiveMaximum: true, maximum: 1}
      owner.name: {type: string, minLength: 2, maxLength: 5}
      colour: {enum: [red, green]}
      on: {type: boolean}
      empty: {type: string, nullable: true}
      date: {type: string}
      names: {type: array, minItems: 1, uniqueItems: true, items: {type: string, pattern: "^[a-z]+$"}}
      labels: {type: object, additionalProperties: {type: string}}
      either: {anyOf: [{type: string}, {type: integer}]}
`

const config = `apiVersion: example.com/v1
kind: Thing
metadata: {name: x, annotations: {a: b}}
runtime: {exec: {path: x}}
`

func check(t *testing.T, config, schema string) error {
	t.Helper()
	return openapi.Validate(yaml.MustParse(config), yaml.MustParse(schema))
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, spec, want string }{
		{"fine", "spec:\n  {size: 1, owner.name: me, ratio: 0.5, colour: red, on: true, empty: ~, date: 2020-01-01, names: [a, b], labels: {a: b}, either: 1}", ""},
		{"an integer is a number", "spec: {size: 1, owner.name: me, ratio: 0}", ""},
		{"a whole number is an integer", "spec: {size: 2.0, owner.name: me}", ""},
		{"aliases", "spec: {size: 1, owner.name: &n me, names: [*n]}", ""},
		{"required", "spec:\n  size: 1", "line 5: spec.owner.name: is required"},
		{"required at the top", "", "line 1: spec: is required"},
		{"types", `spec:
  size: "1"
  owner.name: 7
  ratio: x
  on: "true"
  empty: 1
  names: a
  labels: [a]
  either: []`, `line 6: spec.size: must be of type integer: "string"
line 7: spec.owner.name: must be of type string: "integer"
line 8: spec.ratio: must be of type number: "string"
line 9: spec.on: must be of type boolean: "string"
line 10: spec.empty: must be of type string: "integer"
line 11: spec.names: must be of type array: "string"
line 12: spec.labels: must be of type object: "array"
line 13: spec.either: must be of type string: "array"
line 13: spec.either: must validate at least one schema (anyOf)`},
		{"values", `spec:
  size: 11
  owner.name: m
  ratio: 1
  colour: blue
  names: []`, `line 6: spec.size: should be less than or equal to 10
line 7: spec.owner.name: should be at least 2 chars long
line 8: spec.ratio: should be less than 1
line 9: spec.colour: should be one of [red green]
line 10: spec.names: should have at least 1 items`},
		{"in lists and maps", `spec:
  size: 0
  owner.name: toolong
  names:
  - a
  - B
  - a
  labels:
    a: 1`, `line 6: spec.size: should be greater than or equal to 1
line 7: spec.owner.name: should be at most 5 chars long
line 8: spec.names: shouldn't contain duplicates
line 10: spec.names[1]: should match '^[a-z]+$'
line 13: spec.labels.a: must be of type string: "integer"`},
		{"unknown fields", "spec:\n  size: 1\n  owner.name: me\n  siez: 1\nspce: {}",
			"line 8: spec.siez: is not a field of this kind\nline 9: spce: is not a field of this kind"},
		{"null", "spec: {size: ~, owner.name: me}", `line 5: spec.size: must be of type integer: "null"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := check(t, config+tt.spec, schema)
			got := ""
			if err != nil {
				got = err.Error()
				if bad := (*openapi.InvalidError)(nil); !errors.As(err, &bad) {
					t.Errorf("%T is not an InvalidError", err)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateImplied(t *testing.T) {
	t.Parallel()
	const strict = `{type: object, required: [kind], properties: {kind: {enum: [Other]}}, additionalProperties: false}`
	err := check(t, config, strict)
	if err == nil || err.Error() != "line 2: kind: should be one of [Other]" {
		t.Error(err)
	}
}

func TestValidateMany(t *testing.T) {
	t.Parallel()
	err := check(t, "a: ["+strings.Repeat("1, ", 30)+"1]", `{properties: {a: {items: {type: string}}}}`)
	bad := (*openapi.InvalidError)(nil)
	if !errors.As(err, &bad) || len(bad.Problems) != 20 || bad.More != 11 {
		t.Error(err)
	}
}

func TestValidateHostile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, schema, want string }{
		{"control characters", `{properties: {kind: {pattern: "\e2J"}}}`, `line 2: kind: "should match '\x1b2J'"`},
		{"flood", `{required: [` + strings.Repeat("x", 5000) + `]}`, "line 1: " + strings.Repeat("x", 300) + "…: is required"},
	} {
		if err := check(t, config, tt.schema); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestSchemaErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, schema, want string }{
		{"reference", `{$ref: "#/definitions/x"}`, "the function's schema: schema references not supported: #/definitions/x"},
		{"reference below", `{properties: {kind: {$ref: "#/definitions/x"}}}`, "the function's schema: schema references not supported: #/definitions/x"},
		{"pattern", `{properties: {kind: {pattern: "("}}}`,
			"the function's schema: kind in body should match '(, but pattern is invalid: error parsing regexp: missing closing ): `(`'"},
		{"a type that is none", `{properties: {kind: 7}}`, ""},
		{"deep", strings.Repeat("{not: ", 300) + "{}" + strings.Repeat("}", 300), "the function's schema: line 1: nested more than 256 levels deep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := check(t, config, tt.schema)
			bad := (*openapi.SchemaError)(nil)
			if !errors.As(err, &bad) || tt.want != "" && err.Error() != tt.want {
				t.Errorf("%T: %v", err, err)
			}
		})
	}
	if err := openapi.Validate(yaml.MustParse("a: 1"), nil); err == nil {
		t.Error("want an error without a schema")
	}
}

func FuzzValidate(f *testing.F) {
	f.Add([]byte(config+"spec: {size: 1}"), []byte(schema))
	f.Add([]byte("a: &a [1, *a]"), []byte(`{$ref: x}`))
	f.Add([]byte("a: 99999999999999999999"), []byte(`{properties: {a: {pattern: "(", format: date, multipleOf: 0}}}`))
	f.Add([]byte("{a: 1, b: [x]}"), []byte(`{patternProperties: {"(": {}}, oneOf: [{}, {}], not: {}, allOf: [{}], dependencies: {a: [b]}}`))
	f.Fuzz(func(t *testing.T, config, schema []byte) {
		c, err := yaml.Parse(string(config))
		if err != nil {
			return
		}
		s, err := yaml.Parse(string(schema))
		if err != nil {
			return
		}
		first, second := openapi.Validate(c, s), openapi.Validate(c, s)
		if fmt.Sprint(first) != fmt.Sprint(second) {
			t.Errorf("%v\nand then\n%v", first, second)
		}
	})
}

func ExampleValidate() {
	schema := yaml.MustParse(`{type: object, properties: {spec: {type: object, required: [size]}}}`)
	fmt.Println(openapi.Validate(yaml.MustParse("apiVersion: example.com/v1\nkind: Thing\nspec:\n  sise: 1\n"), schema))
	// Output: line 3: spec.size: is required
}
