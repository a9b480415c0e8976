package fnexec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/fnexec"
)

func TestDecodeResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		yaml string
		want []fnexec.Result
	}{
		"of the specification": {`
- message: wrong type
  severity: error
  resourceRef: {apiVersion: v1, kind: Service, namespace: shop, name: web}
  field: {path: spec.ports.0.port, currentValue: "80", proposedValue: 80}
  file: {path: service.yaml, index: 2}
  tags: {a: b, n: 1}
`, []fnexec.Result{{
			Message: "wrong type", Severity: "error",
			ResourceRef: &fnexec.ResourceRef{APIVersion: "v1", Kind: "Service", Namespace: "shop", Name: "web"},
			Field:       &fnexec.Field{Path: "spec.ports.0.port", CurrentValue: "80", ProposedValue: 80},
			File:        &fnexec.File{Path: "service.yaml", Index: 2},
			Tags:        map[string]string{"a": "b", "n": "1"},
		}}},
		"no severity": {"- message: x\n- {message: y, severity: ''}\n", []fnexec.Result{{Message: "x"}, {Message: "y"}}},
		"unknown severity": {"- {message: x, severity: Fatal}\n- {message: y, severity: ERROR}\n", []fnexec.Result{
			{Message: "x", Severity: "Fatal"}, {Message: "y", Severity: "error"},
		}},
		"no message": {"- severity: info\n- message: ''\n- message: null\n- {}\n", []fnexec.Result{{Severity: "info"}, {}, {}, {}}},
		"named":      {"- {name: x, severity: error}\n", []fnexec.Result{{Severity: "error"}}},
		"no index":   {"- {message: x, file: {path: a.yaml, index: -1}}\n", []fnexec.Result{{Message: "x", File: &fnexec.File{Path: "a.yaml", Index: -1}}}},
		"older": {`
name: check
items:
- {message: a, severity: warn, field: {path: p, suggestedValue: {x: [1, null]}}}
- {message: b, severity: info, resourceRef: {kind: K, metadata: {name: n, namespace: s}}}
`, []fnexec.Result{
			{Message: "a", Severity: "warning", Field: &fnexec.Field{Path: "p", ProposedValue: map[string]any{"x": []any{1, nil}}}},
			{Message: "b", Severity: "info", ResourceRef: &fnexec.ResourceRef{Kind: "K", Namespace: "s", Name: "n"}},
		}},
		"several lists":       {"- {name: a, items: [{message: x}]}\n- {name: b, items: null}\n- {name: c, items: []}\n", []fnexec.Result{{Message: "x"}}},
		"empty":               {"[]", nil},
		"an empty list":       {"items: []", nil},
		"empty and omitted":   {"name: check", nil}, // as an SDK with one wrapper wrote it
		"null":                {"null", nil},
		"a name alone":        {"- {name: x}\n", []fnexec.Result{{}}},
		"a field alone":       {"- {field: {path: p}}\n", []fnexec.Result{{Field: &fnexec.Field{Path: "p"}}}},
		"a result with items": {"- {name: x, severity: info, items: [{severity: error}]}\n", []fnexec.Result{{Severity: "info"}, {Severity: "error"}}},
		"a message with items": {"{message: m, items: [{message: n, severity: error}]}", []fnexec.Result{
			{Message: "m"}, {Message: "n", Severity: "error"},
		}},
		"a resource with items": {"- {resourceRef: {name: r}, items: [{message: n}]}\n", []fnexec.Result{
			{ResourceRef: &fnexec.ResourceRef{Name: "r"}}, {Message: "n"},
		}},
		"an item with a name": {"items: [{name: x}]", []fnexec.Result{{}}},
		"items is a mapping":  {"items: {name: x}", []fnexec.Result{{}}},
		"unknown fields":      {"- {message: m, severity: info, url: u, more: [x]}\n", []fnexec.Result{{Message: "m", Severity: "info"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fnexec.DecodeResults(node(t, c.yaml))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeResultsRefuses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"x":                                 "neither a list nor a mapping",
		"- x":                               "results[0]: it is not a mapping",
		"- message: []":                     "results[0].message: must be a string, not a list",
		"- {message: a, severity: [error]}": "results[0].severity: must be a string, not a list",
		"- {message: a, field: x}":          "results[0].field: must be a mapping, not a string",
		"- {message: a, file: {index: -2}}": "not the index",
		"- {message: a, tags: {a: []}}":     "results[0].tags.a: must be a string, not a list",
		"- {message: a, resourceRef: {name: []}}":          "results[0].resourceRef.name",
		"- {items: [{items: [{message: a}]}]}":             "results[0].items[0]: its results are a list in a list",
		"- {items: [{message: m, items: [{message: a}]}]}": "results[0].items[0]: its results are a list in a list",
		"- {message: m, severity: info, items: x}":         "results[0].items: it is neither a list nor a mapping",
		"- {name: x, results: [{message: bad}]}":           "results[0]: it has no message, no severity, and an unknown field: \"results\"",
		"{name: x, results: [{message: bad}]}":             "results: it has no message, no severity, and an unknown field: \"results\"",
		"- {name: x, items: [], errors: [{message: bad}]}": "results[0]: it has no message, no severity, and an unknown field: \"errors\"",
		"- {? [a] : b}":                                         "and an unknown field: its name is not a string",
		"- {Severity: error}":                                   "and an unknown field: \"Severity\"",
		"- {msg: bad, level: error}":                            "and an unknown field: \"msg\"",
		"- {items: [{items: null, level: error}]}":              "results[0].items[0]: it has no message, no severity, and an unknown field: \"level\"",
		"- {message: null, severity: null, error: it is wrong}": "and an unknown field: \"error\"",
	} {
		_, err := fnexec.DecodeResults(node(t, in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", in, err, want)
		}
	}
	got, err := fnexec.DecodeResults(node(t, "- message: kept\n- x\n- message: too\n"))
	if err == nil || len(got) != 2 {
		t.Errorf("got %v, %v: what can be read is kept", got, err)
	}
}

func TestResultFiles(t *testing.T) {
	t.Parallel()
	results := []fnexec.Result{{Message: "m", Severity: "warning", Tags: map[string]string{"a": "b"}}}
	got, err := fnexec.FunctionResultList([]fnexec.Record{
		{Kind: "container", Program: "example.com/fn:v1"},
		{Kind: "exec", Program: "./fn", Output: fnexec.Output{Exit: 2, Stderr: "no\n", Results: results}},
		{Kind: "starlark", Program: "oci://example.com/fn", Failed: true},
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := `apiVersion: kpt.dev/v1
kind: FunctionResultList
metadata:
  name: fnresults
exitCode: 1
items:
- exitCode: 0
  image: example.com/fn:v1
- exec: ./fn
  exitCode: 2
  results:
  - message: m
    severity: warning
    tags:
      a: b
  stderr: |
    no
- exitCode: 1
  starlark: oci://example.com/fn
`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	got, err = fnexec.ResultsFile(results)
	if want := "- message: m\n  severity: warning\n  tags:\n    a: b\n"; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := fnexec.ResultsFile(nil); err != nil || got != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
