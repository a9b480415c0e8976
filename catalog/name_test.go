package catalog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/internal/failure"
)

// names has functions of which some are found by their names alone.
const names = head + `kind: Catalog
spec:
  krmFunctions:
  - {name: set-team, group: "", kind: ConfigMap, versions: [name: v1]}
  - {name: set-tier, group: "", kind: ConfigMap, versions: [{name: v1}, {name: v2}]}
  - {group: fn.kpt.dev, kind: SetLabels, versions: [{name: v1alpha1}, {name: v1}]}
  - {name: twin, group: a.example.com, kind: Twin, versions: [name: v1]}
  - {group: b.example.com, kind: Twin, versions: [name: v1]}
  - {group: c.example.com, kind: Pair, versions: [name: v1]}
  - {group: d.example.com, kind: Pair, versions: [name: v1]}
  - {group: e.example.com, kind: Same, versions: [name: v1], publisher: first}
  - {group: e.example.com, kind: Same, versions: [name: v1], publisher: second}
---
` + head + `kind: KRMFunctionDefinition
metadata: {name: defined}
spec: {group: f.example.com, kind: Thing, versions: [name: v1]}
`

// TestResolveNamed has a row for each way of choosing a function.
func TestResolveNamed(t *testing.T) {
	t.Parallel()
	c, err := catalog.Decode("c", []byte(names))
	if err != nil {
		t.Fatal(err)
	}
	configMap := catalog.IDOf("v1", "ConfigMap")
	for _, tt := range []struct {
		name   string
		config catalog.FunctionID
		want   string // what is found as NAME TYPE, or the error
	}{
		{"", configMap, "the catalog c has 2 functions for v1/ConfigMap: set-team, set-tier"},
		{"", catalog.IDOf("v2", "ConfigMap"), "set-tier v2/ConfigMap"},
		{"", catalog.IDOf("v3", "ConfigMap"), "no catalog has the function v3/ConfigMap, searched c; it exists in version v1, v2"},
		{"", catalog.IDOf("e.example.com/v1", "Same"), "same e.example.com/v1/Same first"},
		{"set-team", configMap, "set-team v1/ConfigMap"},
		{"set-tier", configMap, "set-tier v1/ConfigMap"},
		{"set-tier", catalog.IDOf("v2", "ConfigMap"), "set-tier v2/ConfigMap"},
		{"set-tier", catalog.IDOf("x.example.com/v2", "Other"), "set-tier v1/ConfigMap"},
		{"set-tier", catalog.IDOf("v3", "ConfigMap"), "no catalog has a function named set-tier in version v3, which its functionConfig has, searched c; it exists in version v1, v2"},
		{"set-labels", configMap, "set-labels fn.kpt.dev/v1alpha1/SetLabels"},
		{"set-labels", catalog.IDOf("fn.kpt.dev/v1", "SetLabels"), "set-labels fn.kpt.dev/v1/SetLabels"},
		{"set-label", configMap, "no catalog has a function named set-label, searched c; did you mean set-labels?"},
		{"SetLabels", configMap, "no catalog has a function named SetLabels, searched c; did you mean set-labels?"},
		{"defined", configMap, "defined f.example.com/v1/Thing"},
		{"thing", configMap, "no catalog has a function named thing, searched c; did you mean twin?"},
		// A written name counts before one by default, also for the functionConfig of the latter.
		{"twin", configMap, "twin a.example.com/v1/Twin"},
		{"twin", catalog.IDOf("b.example.com/v1", "Twin"), "twin a.example.com/v1/Twin"},
		{"pair", configMap, "the catalog c has 2 functions named pair: c.example.com/Pair, d.example.com/Pair"},
		{"pair", catalog.IDOf("d.example.com/v1", "Pair"), "pair d.example.com/v1/Pair"},
		{"same", configMap, "same e.example.com/v1/Same first"},
		{"d.example.com/Pair", configMap, "pair d.example.com/v1/Pair"},
		{"fn.kpt.dev/SetLabels", configMap, "set-labels fn.kpt.dev/v1alpha1/SetLabels"},
		{"fn.kpt.dev/SetLabels", catalog.IDOf("fn.kpt.dev/v1", "SetLabels"), "set-labels fn.kpt.dev/v1/SetLabels"},
		{"fn.kpt.dev/SetLabels/v1", configMap, "set-labels fn.kpt.dev/v1/SetLabels"},
		{"fn.kpt.dev/v1/SetLabels", configMap, "set-labels fn.kpt.dev/v1/SetLabels"},
		{"fn.kpt.dev/SetLabels/v3", configMap, "no catalog has the function fn.kpt.dev/SetLabels/v3, searched c; it exists in version v1alpha1, v1"},
		{"fn.kpt.dev/SetLabel", configMap, "no catalog has the function fn.kpt.dev/SetLabel, searched c; there is a kind SetLabels in that group"},
		{"/ConfigMap", catalog.IDOf("x/v1", "X"), "the catalog c has 2 functions of the kind /ConfigMap: set-team, set-tier"},
		{"v2/ConfigMap", configMap, "set-tier v2/ConfigMap"},
		{"a b", configMap, `"a b" is not the name of a function: it has a space or a control character`},
		{"a/", configMap, "a/ is neither the name of a function nor GROUP/KIND, nor GROUP/KIND/VERSION"},
		{"a/b/c/d", configMap, "a/b/c/d is neither the name of a function nor GROUP/KIND, nor GROUP/KIND/VERSION"},
		{strings.Repeat("x", 401), configMap, "the name of the function is longer than 400 bytes"},
	} {
		f, err := c.Resolve(t.Context(), catalog.Query{Config: tt.config, Named: tt.name})
		got := strings.TrimSpace(f.Called() + " " + f.ID.String() + " " + f.Publisher)
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q beside %s: %s", tt.name, tt.config, diff)
		}
		var several *catalog.AmbiguousError
		if errors.As(err, &several) && failure.Of(err) != failure.NotFound {
			t.Errorf("%v is %v", err, failure.Of(err))
		}
	}
}

// TestAmbiguousEndsSearch: a later catalog does not decide what an earlier one leaves open.
func TestAmbiguousEndsSearch(t *testing.T) {
	t.Parallel()
	c, err := catalog.Decode("c", []byte(names))
	if err != nil {
		t.Fatal(err)
	}
	one, err := catalog.Decode("one", []byte(head+"kind: Catalog\nspec: {krmFunctions: [{group: '', kind: ConfigMap, versions: [name: v1]}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	q := of(catalog.IDOf("v1", "ConfigMap"))
	if _, err := catalog.Chain(c, one).Resolve(t.Context(), q); !errors.As(err, new(*catalog.AmbiguousError)) {
		t.Error(err)
	}
	if f, err := catalog.Chain(one, c).Resolve(t.Context(), q); err != nil || f.Called() != "config-map" {
		t.Error(f.Called(), err)
	}
}

// TestManyNames: a catalog with many functions of one type is read in reasonable time, and the error
// lists few of them.
func TestManyNames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(head + "kind: Catalog\nspec:\n  krmFunctions:\n")
	for i := range 30_000 {
		fmt.Fprintf(&b, "  - {name: f%d, group: '', kind: ConfigMap, versions: [name: v1]}\n", i)
	}
	c, err := catalog.Decode("c", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	const want = "has many functions for v1/ConfigMap: f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, …"
	if _, err := c.Resolve(t.Context(), of(catalog.IDOf("v1", "ConfigMap"))); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Error(err)
	}
	if _, err := c.Resolve(t.Context(), catalog.Query{Named: "/ConfigMap"}); err == nil || len(err.Error()) > 300 {
		t.Error(err)
	}
	if f, err := c.Resolve(t.Context(), catalog.Query{Named: "f29999"}); err != nil || f.Called() != "f29999" {
		t.Error(f.Called(), err)
	}
}

func TestDefaultName(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"JavaApplication": "java-application", "HTTPRoute": "http-route", "ConfigMap": "config-map", "x": "x", "": ""} {
		if got := catalog.DefaultName(kind); got != want {
			t.Errorf("%s is %s, want %s", kind, got, want)
		}
	}
}
