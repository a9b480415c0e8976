package catalog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/catalog"
)

const head = "apiVersion: config.kubernetes.io/v1alpha1\n"

// list returns a catalog with one function, whose fields are given.
func list(function string) string {
	return head + "kind: Catalog\nspec:\n  krmFunctions:\n  - " +
		strings.ReplaceAll(strings.TrimSpace(function), "\n", "\n    ") + "\n"
}

// TestDecodeShapes has a row for each way of writing one thing.
func TestDecodeShapes(t *testing.T) {
	t.Parallel()
	const plain = `v1.example.com/v1/Add, line 8
  runtime exec, line 10: {"path":"add"}
`
	for _, tt := range []struct{ name, in, want string }{
		{"Catalog", list("group: v1.example.com\nnames: {kind: Add}\nversions:\n- name: v1\nruntime:\n  exec: {path: add}"), ""},
		{"definition", head + `kind: KRMFunctionDefinition
metadata: {name: add, labels: {a: "1"}}
spec:
  group: example.com
  names: {kind: Add}
  versions:
  - name: v1
    runtime: {exec: {path: add}}
`, `kind: KRMFunctionDefinition
name: add
labels: map[a:1]
example.com/v1/Add, line 8
  runtime exec, line 9: {"path":"add"}
`},
		{"KRMFunctionCatalog", strings.Replace(list("group: g\nkind: K\nversions: [{name: v1, runtime: {starlark: 'https://example.com/f.star'}}]"),
			"kind: Catalog", "kind: KRMFunctionCatalog", 1), `kind: KRMFunctionCatalog
g/v1/K, line 7
  runtime starlark, line 7: https://example.com/f.star
`},
		{"both kinds, the same", list("group: g\nkind: K\nnames: {kind: K}\nversions: [name: v1]"), "kind: Catalog\ng/v1/K, line 8\n"},
		{"the version's runtime wins whole", list(`
group: g
kind: K
runtime: {container: {image: all}, exec: {path: all}}
versions:
- name: v2
  runtime: {starlark: {path: two}}
- name: v1
- name: v0
  runtime: {}
`), `kind: Catalog
g/v2/K, line 9
  runtime starlark, line 10: {"path":"two"}
g/v1/K, line 11
  runtime container, line 7: {"image":"all"}
  runtime exec, line 7: {"path":"all"}
g/v0/K, line 12
`},
		{"specs are not read", list(`
group: g
kind: K
versions:
- name: v1
  runtime:
    exec: [{path: a, sha256: b}]
    container: {image: i, requireFilesystem: true}
    starlark: {uri: u, sha256: s}
    wasm:
    later: 7
`), `kind: Catalog
g/v1/K, line 8
  runtime exec, line 10: [{"path":"a","sha256":"b"}]
  runtime container, line 11: {"image":"i","requireFilesystem":true}
  runtime starlark, line 12: {"sha256":"s","uri":"u"}
  runtime later, line 14: 7
`},
		{"everything", list(`
group: g
names: {kind: K}
description: d
publisher: p
home: h
maintainers: [a]
tags: [x, y]
versions:
- name: v1
  schema: {openAPIV3Schema: {type: object, anything: {unknown: 1}}}
  idempotent: false
  usage: u
  examples: [e1, e2]
  license: My own terms
  maintainers: [b]
- {name: v2, schema: , idempotent: ~, usage: null, examples: , maintainers: , license: , runtime: }
`), `kind: Catalog
g/v1/K, line 13
  description: d
  publisher: p
  home: h
  usage: u
  examples: e1 | e2
  license: My own terms
  maintainers: [b]
  tags: [x y]
  idempotent: false
  schema: {"anything":{"unknown":1},"type":"object"}
g/v2/K, line 20
  description: d
  publisher: p
  home: h
  maintainers: [a]
  tags: [x y]
`},
		{"no functions", head + "kind: Catalog\nspec:\n  krmFunctions:\n", "kind: Catalog\n"},
		{"an empty list of functions", head + "kind: Catalog\nspec: {krmFunctions: []}\n", "kind: Catalog\n"},
		{"JSON", `{"apiVersion":"config.kubernetes.io/v1alpha1","kind":"Catalog","spec":{"krmFunctions":[{"group":"g","kind":"K","versions":[{"name":"v1"}]}]}}`,
			"kind: Catalog\ng/v1/K, line 1\n"},
		{"Windows line ends and a byte order mark", "\ufeff" + strings.ReplaceAll(list("group: g\nkind: K\nversions: [name: v1]"), "\n", "\r\n"),
			"kind: Catalog\ng/v1/K, line 7\n"},
		{"metadata is Kubernetes'", head + "kind: Catalog\nmetadata: {name: n, uid: 7, labels: {port: 80, none: }, annotations: {a: b}, ownerReferences: [{}]}\nspec: {krmFunctions: []}\n",
			"kind: Catalog\nname: n\nlabels: map[none: port:80]\nannotations: map[a:b]\n"},
		{"several documents", "# first\n---\n---\n" + list("group: g\nkind: A\nversions: [name: v1]") + "---\n" + head +
			"kind: KRMFunctionDefinition\nmetadata: {name: second, labels: {a: b}}\nspec: {group: g, kind: B, versions: [name: v1]}\n---\n" + head +
			"kind: Catalog\nmetadata: {name: third, labels: {c: d}, annotations: {e: f}}\nspec: {krmFunctions: [{group: g, kind: C, versions: [name: v1]}]}\n...\n",
			"kind: Catalog\nname: second\nlabels: map[a:b]\nannotations: map[e:f]\ng/v1/A, line 10\ng/v1/B, line 15\ng/v1/C, line 20\n"},
		{"aliases", list(`
group: &g g
kind: A
versions: &v
- name: v1
  runtime: &r {exec: {path: x}}
`) + `  - {group: *g, kind: B, versions: *v}
  - {group: *g, kind: C, versions: [name: v1], runtime: *r}
`, `kind: Catalog
g/v1/A, line 8
  runtime exec, line 9: {"path":"x"}
g/v1/B, line 8
  runtime exec, line 9: {"path":"x"}
g/v1/C, line 11
  runtime exec, line 9: {"path":"x"}
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := catalog.Decode("c.yaml", []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			if want == "" {
				want = "kind: Catalog\n" + plain
			}
			if diff := cmp.Diff(want, dump(t, c)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	c, err := catalog.Decode("c.yaml", []byte(head+`kind: Catalog
spec:
  krmFunctions:
  - {group: b, kind: K, versions: [{name: v2}, {name: v1}]}
  - {group: a, kind: K, versions: [name: v1]}
  - {group: b, kind: K, versions: [{name: v3}, {name: v2}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range c.Groups() {
		s := g.Group + "/" + g.Kind + ":"
		for _, v := range g.Versions {
			s += " " + v.ID.Version
		}
		got = append(got, s)
	}
	if diff := cmp.Diff([]string{"b/K: v2 v1 v3 v2", "a/K: v1"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFunctionID(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ apiVersion, kind, want string }{
		{"example.com/v1", "Add", "example.com/v1/Add"},
		{"v1", "ConfigMap", "v1/ConfigMap"},
		{"", "ConfigMap", "ConfigMap"},
		{"", "", ""},
	} {
		id := catalog.IDOf(tt.apiVersion, tt.kind)
		if id.String() != tt.want || id.APIVersion() != tt.apiVersion {
			t.Errorf("IDOf(%q, %q) is %q, %q", tt.apiVersion, tt.kind, id, id.APIVersion())
		}
	}
}
