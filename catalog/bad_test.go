package catalog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/catalog"
)

// bomb returns nine levels of lists, each with nine aliases of the list before.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	return b.String()
}

// badInputs returns texts that Decode refuses. The errors are in testdata/bad.golden.
func badInputs() []struct{ name, in string } {
	fine := "group: g\nkind: K\nversions: [name: v1]"
	return []struct{ name, in string }{
		{"nothing", ""},
		{"comments alone", "# nothing\n---\n# here\n"},
		{"a word", "catalog"},
		{"a list", "- a\n- b\n"},
		{"broken YAML", head + "kind: Catalog\nspec:\n  krmFunctions:\n  - group: [g\n    kind: K\n"},
		{"a tab", head + "kind: Catalog\nspec:\n\tkrmFunctions: []\n"},
		{"not UTF-8", head + "kind: Catalog\nname: \xff\xfe\n"},
		{"a control character", head + "kind: Catalog\nname: \x01\n"},
		{"an alias without anchor", list("group: *nobody")},
		{"an alias in its own anchor", list("group: &g\n  a: *g")},
		{"an alias bomb", bomb() + list(fine)},
		{"deep nesting", head + "kind: Catalog\nspec: " + strings.Repeat("[", 600) + strings.Repeat("]", 600)},
		{"deeper nesting than the parser takes", head + "kind: Catalog\nspec: " + strings.Repeat("[", 20000)},
		{"a field twice", list("group: g\nkind: K\ngroup: h\nversions: [name: v1]")},
		{"a field of a schema twice", list("group: g\nkind: K\nversions:\n- name: v1\n  schema: {openAPIV3Schema: {type: a,\n    type: b}}")},
		{"one of many fields twice", list(fine + "\nruntime:\n  x: {" + strings.Repeat("a: 1,\n    ", 2) + manyFields(20) + "}")},
		{"a list as a key", list(fine + "\n? [a]\n: b")},
		{"another apiVersion", "apiVersion: kustomize.io/v1\nkind: Catalog\nspec: {krmFunctions: []}\n"},
		{"no apiVersion", "kind: Catalog\nspec: {krmFunctions: []}\n"},
		{"another kind", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n"},
		{"no kind", head + "spec: {krmFunctions: []}\n"},
		{"a kind that is a list", head + "kind: [Catalog]\nspec: {krmFunctions: []}\n"},
		{"no spec", head + "kind: Catalog\n"},
		{"an empty spec", head + "kind: Catalog\nspec: {}\n"},
		{"a spec that is a list", head + "kind: Catalog\nspec: []\n"},
		{"metadata that is text", head + "kind: Catalog\nmetadata: name\nspec: {krmFunctions: []}\n"},
		{"metadata of wrong types", head + "kind: Catalog\nmetadata:\n  name: 7\n  labels: [a]\n  annotations: {a: [b]}\nspec: {krmFunctions: []}\n"},
		{"misspelt, top", head + "kind: Catalog\nmetdata: {}\nspec: {krmFunctions: []}\n"},
		{"misspelt, spec", head + "kind: Catalog\nspec:\n  krmFunction: []\n"},
		{"misspelt, function", list("groups: g\nKind: K\nversion: [name: v1]\nruntimes: {}")},
		{"misspelt, version", list("group: g\nkind: K\nversions:\n- nmae: v1\n  shema: {}\n  colour: red")},
		{"misspelt, names and schema", list("group: g\nnames:\n  knd: K\nversions:\n- name: v1\n  schema: {openapiV3Schema: {}}")},
		{"functions that are a mapping", head + "kind: Catalog\nspec:\n  krmFunctions:\n    group: g\n"},
		{"functions that are words", head + "kind: Catalog\nspec:\n  krmFunctions: [a, 1]\n"},
		{"a function of nothing", list("{}")},
		{"a function of wrong types", list("group: [g]\nnames: K\ndescription: true\npublisher: 1.5\nversions: v1\nruntime: exec\nhome: 2020-01-01\nmaintainers: me\ntags: [a, [b]]")},
		{"versions of wrong types", list("group: g\nkind: K\nversions:\n- v1\n- name: 1\n- name: v1\n  schema: a.yaml\n  idempotent: true|false\n  examples: {}\n  runtime: []\n- name: v2\n  schema: {openAPIV3Schema: ...}\n  license: !mine x")},
		{"no versions", list("group: g\nkind: K")},
		{"an empty list of versions", list("group: g\nkind: K\nversions: []")},
		{"a version without name", list("group: g\nkind: K\nversions:\n- runtime: {}")},
		{"names that are not names", list("group: g/h\nkind: 'K '\nversions: [name: \"v\\e1\"]")},
		{"no group, which is not the core group", list("group:\nkind: K\nversions: [name: v1]") + "  - {kind: L, versions: [name: v1]}\n"},
		{"names of entries that are not names", list("name: a/b\n"+fine) + "  - {name: '', group: g, kind: L, versions: [name: v1]}\n  - {name: 7, group: g, kind: M, versions: [name: v1]}\n"},
		{"two names of a definition", head + "kind: KRMFunctionDefinition\nmetadata: {name: a}\nspec: {name: b, group: g, kind: K, versions: [name: v1]}\n"},
		{"images that cannot be replaced", list(fine + "\nreplaces:\n- {image: 'a/b:v1', tags: [a b]}\n- {image: a/b}\n- {imgae: a/b, versions: newest}")},
		{"two kinds", list("group: g\nnames: {kind: A}\nkind: B\nversions: [name: v1]")},
		{"a second document", list(fine) + "---\nkind: ConfigMap\napiVersion: v1\n"},
		{"a broken second document", list(fine) + "---\n}\n"},
		{"a brace on its own line", "a: 1\n}\n"},
		{"an unclosed brace below the first line", "a: 1\nb: {x: 1\nc: d\n"},
		{"an unclosed quote", "a: 1\nb: \"x\n"},
		{"two colons", "a: 1\nb: c: d\n"},
		{"a list within a mapping", "x:\n  a: 1\n  - b\n"},
		{"an unknown tag handle", "a: 1\nb: !x!y z\n"},
		{"a mapping within a list", "a: 1\nl:\n  - b\n  c: d\n"},
		{"hostile names", list("group: g\nkind: K\nversions: [name: v1]\n\"\\e[2J" + strings.Repeat("é", 100) + "\": 1")},
		{"many problems", head + "kind: Catalog\nspec:\n  krmFunctions:\n" + strings.Repeat("  - x\n", 25)},
		{"more problems than are kept", head + "kind: Catalog\nspec:\n  krmFunctions:\n" + strings.Repeat("  - x\n", 2500)},
	}
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "f%d: 1, ", i)
	}
	return b.String()
}

func TestDecodeBad(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	for _, tt := range badInputs() {
		c, err := catalog.Decode("dir/c.yaml", []byte(tt.in))
		if err == nil || c != nil {
			t.Errorf("%s: want an error and no catalog, got %v, %v", tt.name, c, err)
			continue
		}
		fmt.Fprintf(&said, "# %s\n%s\n\n", tt.name, err)
		checkErrors(t, tt.name, err)
	}
	golden(t, "testdata/bad.golden", said.String())
}

// checkErrors checks that every error has the file, and that the errors are in order and within
// their limit.
func checkErrors(t *testing.T, name string, err error) {
	t.Helper()
	all := (*catalog.SyntaxErrors)(nil)
	one := (*catalog.SyntaxError)(nil)
	if !errors.As(err, &all) || !errors.As(err, &one) {
		t.Fatalf("%s: %T is not a SyntaxErrors of SyntaxError", name, err)
	}
	if len(all.List) == 0 || len(all.List) > 20 || all.List[0] != one {
		t.Errorf("%s: %d problems", name, len(all.List))
	}
	last := 0
	for _, e := range all.List {
		if e.Line < last || e.Msg == "" || strings.ContainsAny(e.Msg, "\x00\x01\x1b\n") {
			t.Errorf("%s: bad problem %+v after line %d", name, e, last)
		}
		last = e.Line
	}
}

func TestLintBad(t *testing.T) {
	t.Parallel()
	for _, tt := range badInputs() {
		found := catalog.Lint("c.yaml", []byte(tt.in))
		if len(found) == 0 || !hasError(found) {
			t.Errorf("%s: Lint finds no error", tt.name)
		}
	}
}

func hasError(found []catalog.Finding) bool {
	for _, f := range found {
		if f.Severity == catalog.SeverityError {
			return true
		}
	}
	return false
}

// TestAliasBudget checks that a file may use aliases as long as the expanded size is in proportion
// to the file.
func TestAliasBudget(t *testing.T) {
	t.Parallel()
	text := func(n int) []byte {
		var b strings.Builder
		b.WriteString(list("group: g\nkind: K\nversions: &v [{name: v1, runtime: {exec: {path: p, sha256: s}}}]"))
		for i := range n {
			fmt.Fprintf(&b, "  - {group: g, kind: K%d, versions: *v}\n", i)
		}
		return []byte(b.String())
	}
	c, err := catalog.Decode("c.yaml", text(500))
	if err != nil || len(c.Functions) != 501 {
		t.Errorf("500 aliases: %v", err)
	}
	if diff := cmp.Diff(c.Functions[1].ID, catalog.FunctionID{Group: "g", Version: "v1", Kind: "K0"}); diff != "" {
		t.Error(diff)
	}
}
