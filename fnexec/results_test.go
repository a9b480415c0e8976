package fnexec_test

import (
	"errors"
	"slices"
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
			got, notes := fnexec.DecodeResults(node(t, c.yaml))
			if len(notes) > 0 {
				t.Errorf("got the notes %q", notes)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestMendedResults checks that no shape of a result makes the others unreadable: what is no result
// is kept as text, and a note says so.
func TestMendedResults(t *testing.T) {
	t.Parallel()
	const unread = ` has no message, no severity, and an unknown field: it is kept whole as the message of a result with the severity unknown`
	one := func(r fnexec.Result) []fnexec.Result { return []fnexec.Result{r} }
	unknown := func(message string) []fnexec.Result {
		return one(fnexec.Result{Message: message, Severity: "unknown"})
	}
	for in, c := range map[string]struct {
		want []fnexec.Result
		note string
	}{
		"x":                                                     {one(fnexec.Result{Message: "x"}), "results is not a mapping: its text is taken as the message"},
		"- x\n- {message: m}":                                   {[]fnexec.Result{{Message: "x"}, {Message: "m"}}, "results[0] is not a mapping: its text is taken as the message"},
		"- [{message: m, severity: error}]":                     {one(fnexec.Result{Message: "m", Severity: "error"}), "results[0] is a list in a list: its entries are taken as results"},
		"- message: [a, 1]":                                     {one(fnexec.Result{Message: `["a",1]`}), "results[0].message is not a text: it is kept as JSON"},
		"- {message: a, severity: [error]}":                     {one(fnexec.Result{Message: "a", Severity: `["error"]`}), "results[0].severity is not a text: it is kept as JSON"},
		"- {message: a, field: spec.a}":                         {one(fnexec.Result{Message: "a", Field: &fnexec.Field{Path: "spec.a"}}), "results[0].field is not a mapping: its text is taken as its name or path"},
		"- {message: a, file: a.yaml}":                          {one(fnexec.Result{Message: "a", File: &fnexec.File{Path: "a.yaml"}}), "results[0].file is not a mapping: its text is taken as its name or path"},
		"- {message: a, resourceRef: web}":                      {one(fnexec.Result{Message: "a", ResourceRef: &fnexec.ResourceRef{Name: "web"}}), "results[0].resourceRef is not a mapping: its text is taken as its name or path"},
		"- {message: a, resourceRef: [x]}":                      {one(fnexec.Result{Message: "a"}), "results[0].resourceRef is not a mapping: it is left out"},
		"- {message: a, resourceRef: {kind: K, metadata: x}}":   {one(fnexec.Result{Message: "a", ResourceRef: &fnexec.ResourceRef{Kind: "K"}}), "results[0].resourceRef.metadata is not a mapping: it is left out"},
		"- {message: a, file: {path: p, index: -2}}":            {one(fnexec.Result{Message: "a", File: &fnexec.File{Path: "p", Index: -1}}), "results[0].file.index is not the index of a document: it is left out"},
		"- {message: a, file: {path: p, index: two}}":           {one(fnexec.Result{Message: "a", File: &fnexec.File{Path: "p", Index: -1}}), "results[0].file.index is not the index of a document: it is left out"},
		"- {message: a, tags: {a: [1]}}":                        {one(fnexec.Result{Message: "a", Tags: map[string]string{"a": "[1]"}}), "results[0].tags.a is not a text: it is kept as JSON"},
		"- {message: a, tags: [x]}":                             {one(fnexec.Result{Message: "a"}), "results[0].tags is not a mapping: it is left out"},
		"- {message: m, severity: info, items: x}":              {[]fnexec.Result{{Message: "m", Severity: "info"}, {Message: "x"}}, "results[0].items is not a mapping: its text is taken as the message"},
		"- {name: x, results: [{message: bad}]}":                {unknown(`{"name":"x","results":[{"message":"bad"}]}`), "results[0]" + unread},
		"{name: x, results: [{message: bad}]}":                  {unknown(`{"name":"x","results":[{"message":"bad"}]}`), "results" + unread},
		"- {Severity: error}":                                   {unknown(`{"Severity":"error"}`), "results[0]" + unread},
		"- {msg: <bad>, level: error}":                          {unknown(`{"level":"error","msg":"<bad>"}`), "results[0]" + unread},
		"- {message: null, severity: null, error: it is wrong}": {unknown(`{"error":"it is wrong","message":null,"severity":null}`), "results[0]" + unread},
		"- {name: x, items: [{message: m}], errors: [{a: b}]}":  {[]fnexec.Result{{Message: `{"errors":[{"a":"b"}],"name":"x"}`, Severity: "unknown"}, {Message: "m"}}, "results[0]" + unread},
		strings.Repeat("[", 11) + "a" + strings.Repeat("]", 11): {unknown(`[["a"]]`),
			"results[0][0][0][0][0][0][0][0][0] its lists are nested too deep: it is kept whole as the message of a result with the severity unknown"},
	} {
		got, notes := fnexec.DecodeResults(node(t, in))
		if d := cmp.Diff(c.want, got); d != "" || !slices.Contains(notes, c.note) {
			t.Errorf("%s: %s\nnotes %q, want %q", in, d, notes, c.note)
		}
	}
}

// TestWireShapes checks what SDKs and functions without an SDK write: the results are as meant, and
// the resource beside them is not lost.
func TestWireShapes(t *testing.T) {
	t.Parallel()
	const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
	ref := &fnexec.ResourceRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a"}
	for name, c := range map[string]struct {
		stdout string
		want   []fnexec.Result
		notes  int
	}{
		"framework of kyaml": {list + `results:
- message: no replicas
  severity: error
  resourceRef:
    apiVersion: v1
    kind: ConfigMap
    name: a
    namespace: shop
  field:
    path: spec.replicas
    currentValue: 0
    proposedValue: 3
  file:
    path: a.yaml
    index: 1
`, []fnexec.Result{{Message: "no replicas", Severity: "error", ResourceRef: ref,
			Field: &fnexec.Field{Path: "spec.replicas", CurrentValue: 0, ProposedValue: 3}, File: &fnexec.File{Path: "a.yaml", Index: 1}}}, 0},
		"framework of kyaml before 0.13": {list + `results:
  name: check
  items:
  - message: no replicas
    severity: warn
    resourceRef:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: a
        namespace: shop
    field:
      path: spec.replicas
      suggestedValue: "3"
    file:
      path: a.yaml
  - message: checked 1 resource
`, []fnexec.Result{{Message: "no replicas", Severity: "warning", ResourceRef: ref,
			Field: &fnexec.Field{Path: "spec.replicas", ProposedValue: "3"}, File: &fnexec.File{Path: "a.yaml"}},
			{Message: "checked 1 resource", Severity: "info"}}, 0},
		"framework of kyaml before 0.13, without results": {list + "results:\n  name: check\n  items: []\n", nil, 0},
		"Go SDK": {list + `results:
- message: set field value to "3"
  severity: info
  resourceRef:
    apiVersion: v1
    kind: ConfigMap
    name: a
    namespace: shop
  field:
    path: spec.replicas
    currentValue: 1
    proposedValue: 3
  file:
    path: a.yaml
    index: -1
- message: ""
  severity: info
`, []fnexec.Result{{Message: `set field value to "3"`, Severity: "info", ResourceRef: ref,
			Field: &fnexec.Field{Path: "spec.replicas", CurrentValue: 1, ProposedValue: 3}, File: &fnexec.File{Path: "a.yaml", Index: -1}},
			{Severity: "info"}}, 0},
		"TypeScript SDK": {`{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}],` +
			`"results":[{"severity":"warning","message":"no replicas","tags":{"rule":"r1"},` +
			`"resourceRef":{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"a"},` +
			`"file":{"path":"a.yaml","index":0},"field":{"path":"spec.replicas","currentValue":1,"suggestedValue":3}}]}`,
			[]fnexec.Result{{Message: "no replicas", Severity: "warning", ResourceRef: ref, Tags: map[string]string{"rule": "r1"},
				Field: &fnexec.Field{Path: "spec.replicas", CurrentValue: 1, ProposedValue: 3}, File: &fnexec.File{Path: "a.yaml"}}}, 0},
		"Python, lists of texts":    {list + "results: [no replicas, 2]\n", []fnexec.Result{{Message: "no replicas", Severity: "info"}, {Message: "2", Severity: "info"}}, 2},
		"Python, fields of its own": {list + "results:\n- {level: ERROR, msg: no replicas}\n", []fnexec.Result{{Message: `{"level":"ERROR","msg":"no replicas"}`, Severity: "unknown"}}, 1},
		"Python, None":              {list + "results: null\n", nil, 0},
		"Python, Exception":         {list + "results:\n- {severity: Critical, message: !!python/object:a.B {c: d}}\n", []fnexec.Result{{Message: `{"c":"d"}`, Severity: "Critical"}}, 1},
		"shell, one text":           {list + "results: it is wrong\n", []fnexec.Result{{Message: "it is wrong", Severity: "info"}}, 1},
		"shell, one result":         {list + "results: {message: it is wrong, severity: error}\n", []fnexec.Result{{Message: "it is wrong", Severity: "error"}}, 0},
		"shell, two lists": {"kind: List\nitems: [{kind: A}]\nresults: [{message: m, severity: error}]\n---\nkind: List\nitems: []\nresults: {message: n}\n",
			[]fnexec.Result{{Message: "m", Severity: "error"}, {Message: "n", Severity: "info"}}, 0},
		"shell, a tag of null": {list + "results: !!null [{message: m, severity: error}]\n", []fnexec.Result{{Message: "m", Severity: "error"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := fnexec.Call(t.Context(), says(c.stdout), fnexec.Input{})
			if err != nil || len(out.Items) != 1 || len(out.Strange) != c.notes {
				t.Errorf("got %v, %d items and the notes %q", err, len(out.Items), out.Strange)
			}
			if d := cmp.Diff(c.want, out.Results); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestResultsBesideBadItems checks that results are read although the items cannot be used.
func TestResultsBesideBadItems(t *testing.T) {
	t.Parallel()
	out, err := fnexec.Call(t.Context(), says(resourceList("results: [{message: why}]\nitems: [x]")), fnexec.Input{})
	want := []fnexec.Result{{Message: "why", Severity: "error"}}
	if !errors.As(err, new(*fnexec.OutputError)) || !cmp.Equal(out.Results, want) || out.Items != nil {
		t.Errorf("got %v, %v, %v", err, out.Results, out.Items)
	}
}

// TestUnreadResultsFail checks that an entry that is no result fails what an error would fail.
func TestUnreadResultsFail(t *testing.T) {
	t.Parallel()
	stdout := resourceList("items: []\nresults: [{level: error, msg: bad}]")
	for _, c := range []struct {
		in    fnexec.Input
		fails bool
	}{
		{fnexec.Input{}, false},
		{fnexec.Input{Validator: true}, true},
		{fnexec.Input{FailOn: fnexec.FailOnError}, true},
		{fnexec.Input{Validator: true, FailOn: fnexec.FailOnNever}, false},
	} {
		if _, err := fnexec.Call(t.Context(), says(stdout), c.in); errors.As(err, new(*fnexec.ResultsError)) != c.fails {
			t.Errorf("%+v: got %v", c.in, err)
		}
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
