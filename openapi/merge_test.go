package openapi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/openapi"
)

// mergeCase is one rule. If err is set it is the whole message, and lists is still checked.
type mergeCase struct {
	name, base, patch, schema string
	want, err                 string
	lists                     bool
}

// listSchema returns the schema of a config whose field l is a list.
func listSchema(of string) string { return "{properties: {l: {" + of + "}}}" }

const (
	named = `{properties: {l: {x-kubernetes-patch-merge-key: name}}}`
	ports = `{properties: {l: {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port, protocol], items: {properties: {protocol: {default: TCP}}}}}}`
	set   = `{properties: {l: {x-kubernetes-list-type: set}}}`
)

func mergeCases() []mergeCase {
	var all []mergeCase
	for _, group := range [][]mergeCase{mappingCases(), directiveCases(), keyedCases(), listCases(), schemaCases(), oddCases()} {
		all = append(all, group...)
	}
	return all
}

func mappingCases() []mergeCase {
	return []mergeCase{
		{name: "new fields come last, in the order of the patch", base: `{b: 1, a: 2}`, patch: `{d: 3, a: 4, c: 5}`, want: `{b: 1, a: 4, d: 3, c: 5}`},
		{name: "mappings merge at every depth", base: `{a: {b: {c: 1, d: 2}, e: 3}}`, patch: `{a: {b: {d: 4}}}`, want: `{a: {b: {c: 1, d: 4}, e: 3}}`},
		{name: "an empty patch changes nothing", base: `{a: {b: null}, l: [1]}`, patch: `{}`, want: `{a: {b: null}, l: [1]}`},
		{name: "null deletes", base: `{a: 1, b: {c: 2, d: 3}, e: [1]}`, patch: `{a: null, b: {c: ~}, e: }`, want: `{b: {d: 3}}`},
		{name: "null for a missing field changes nothing", base: `{a: 1}`, patch: `{b: null}`, want: `{a: 1}`},
		{name: "a mapping may become empty", base: `{a: {b: 1}}`, patch: `{a: {b: null}}`, want: `{a: {}}`},
		{name: "nulls in new content are dropped", base: `{}`, patch: `{a: {b: null, c: 1}, l: [1, null, {d: null, e: [null]}]}`, want: `{a: {c: 1}, l: [1, {e: []}]}`},
		{name: "nulls of the base stay", base: `{a: null, b: {c: null}}`, patch: `{b: {d: 1}}`, want: `{a: null, b: {c: null, d: 1}}`},
		{name: "null in the base is replaced", base: `{a: null, b: null, c: null}`, patch: `{a: 1, b: {d: 1}, c: [1]}`, want: `{a: 1, b: {d: 1}, c: [1]}`},
		{name: "the text null is text", base: `{a: 1}`, patch: `{a: "null"}`, want: `{a: "null"}`},
		{name: "another kind replaces", base: `{a: 1, b: [1], c: {d: 1}, e: {f: 1}}`, patch: `{a: {g: 1}, b: {g: null}, c: [1, null], e: 2}`, want: `{a: {g: 1}, b: {}, c: [1], e: 2}`},
		{name: "scalars keep tag and style of the patch", base: `{a: 1, b: x}`, patch: `{a: "1", b: 'y'}`, want: `{a: "1", b: 'y'}`},
		{name: "keys are compared as they are written", base: `{1: a, true: b, "x.y/z": c}`, patch: `{"1": d, true: null, x.y/z: e}`, want: `{1: d, "x.y/z": e}`},
		{
			name:  "comments of the base stay with their node",
			base:  "# head\na: # of a\n  # above b\n  b: 1 # of b\n  c: 2 # of c\n# tail\n",
			patch: "a:\n  b: 2\n  c: 3 # new\n  d: 4 # of d\n",
			want:  "# head\na: # of a\n  # above b\n  b: 2 # of b\n  c: 3 # new\n  d: 4 # of d\n# tail\n",
		},
		{name: "a value that was empty gets the style of the patch", base: "a: {}\nl: []\n", patch: "a:\n  b: 1\nl:\n- 1\n", schema: set, want: "a:\n  b: 1\nl:\n- 1\n", lists: true},
		{name: "a value that becomes empty keeps its style", base: "a:\n  b: 1\nx: {}\n", patch: `{a: {b: null}, x: {c: null}}`, want: "a: {}\nx: {}\n"},
		{name: "a block is converted to flow style inside braces", base: `{a: {b: 1}}`, patch: "a:\n  c: |\n    x\n    y\n  d:\n  - 1 # one\n  - 2\n", want: "{a: {b: 1, c: \"x\\ny\\n\", d: [1, # one\n      2]}}"},
	}
}

func directiveCases() []mergeCase {
	return []mergeCase{
		{name: "merge is the default", base: `{a: {b: 1}}`, patch: `{a: {$patch: merge, c: 2}}`, want: `{a: {b: 1, c: 2}}`},
		{name: "replace", base: `{a: {b: 1}, x: 1}`, patch: `{a: {$patch: replace, c: 2, d: null}}`, want: `{a: {c: 2}, x: 1}`},
		{name: "replace by an empty value", base: `{a: {b: 1}}`, patch: `{a: {$patch: replace}}`, want: `{a: {}}`},
		{name: "replace the whole", base: `{a: 1}`, patch: `{$patch: replace, b: 1}`, want: `{b: 1}`},
		{name: "delete", base: `{a: {b: 1}, x: 1}`, patch: `{a: {$patch: delete, c: 1}}`, want: `{x: 1}`},
		{name: "delete what is not a mapping", base: `{a: 1, l: [1]}`, patch: `{a: {$patch: delete}, l: {$patch: delete}}`, want: `{}`},
		{name: "delete the whole", base: `{a: 1}`, patch: `{$patch: delete}`, want: ``},
		{name: "null deletes the whole", base: `{a: 1}`, patch: `null`, want: ``},
		{name: "directives in new content are dropped", base: `{}`, patch: `{a: {b: {$patch: delete}, c: {$patch: replace, d: 1}, l: [{$patch: delete, e: 1}, {$patch: replace}, {$patch: merge, f: 1}]}}`, want: `{a: {c: {d: 1}, l: [{f: 1}]}}`},
		{name: "in the base it is data", base: `{a: {$patch: delete}, $retainKeys: 1}`, patch: `{b: 1}`, want: `{a: {$patch: delete}, $retainKeys: 1, b: 1}`},
		{name: "as a value it is data", base: `{}`, patch: `{a: $patch, l: [$retainKeys]}`, want: `{a: $patch, l: [$retainKeys]}`},
		{name: "another value", base: `{}`, patch: `{a: {$patch: remove}}`, err: `a: $patch must be merge, replace or delete, not "remove"`},
		{name: "a value that is not text", base: `{}`, patch: `{$patch: [delete]}`, err: `$patch must be merge, replace or delete, not a list`},
		{name: "retainKeys", base: `{}`, patch: `{a: [{$retainKeys: [b]}]}`, err: `a[0]: the directive "$retainKeys" is not supported, only $patch is`},
		{name: "setElementOrder", base: `{}`, patch: `{a: {$setElementOrder/l: []}}`, err: `a: the directive "$setElementOrder/l" is not supported, only $patch is`},
		{name: "deleteFromPrimitiveList", base: `{}`, patch: `{$deleteFromPrimitiveList/l: [1]}`, err: `the directive "$deleteFromPrimitiveList/l" is not supported, only $patch is`},
		{name: "misspelled", base: `{}`, patch: `{a: {$patches: delete}}`, err: `a: the directive "$patches" is not supported, only $patch is`},
	}
}

func keyedCases() []mergeCase {
	return []mergeCase{
		{name: "items merge in place, new ones come last", lists: true, schema: named, base: `{l: [{name: a, v: 1}, {name: b, v: 2, w: 3}]}`, patch: `{l: [{name: c, n: null}, {v: 4, name: b}]}`, want: `{l: [{name: a, v: 1}, {name: b, v: 4, w: 3}, {name: c}]}`},
		{name: "an empty list changes nothing", lists: true, schema: named, base: `{l: [{name: a}]}`, patch: `{l: []}`, want: `{l: [{name: a}]}`},
		{name: "null deletes the list", schema: named, base: `{l: [{name: a}]}`, patch: `{l: null}`, want: `{}`},
		{name: "lists in items", lists: true, schema: listSchema(`x-kubernetes-patch-merge-key: name, items: {properties: {m: {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k]}}}`), base: `{l: [{name: a, m: [{k: 1, v: 1}]}]}`, patch: `{l: [{name: a, m: [{k: 2}, {k: 1, w: 2}]}]}`, want: `{l: [{name: a, m: [{k: 1, v: 1, w: 2}, {k: 2}]}]}`},
		{name: "several keys and a default", lists: true, schema: ports, base: `{l: [{port: 53, protocol: UDP}, {port: 53}]}`, patch: `{l: [{port: 53, protocol: TCP, n: 1}, {port: 53, protocol: UDP, n: 2}, {port: 54}]}`, want: `{l: [{port: 53, protocol: UDP, n: 2}, {port: 53, protocol: TCP, n: 1}, {port: 54}]}`},
		{name: "a null key counts as its default", lists: true, schema: ports, base: `{l: [{port: 1, protocol: TCP}]}`, patch: `{l: [{port: 1, protocol: null, n: 1}]}`, want: `{l: [{port: 1, n: 1}]}`},
		{name: "keys without a type", lists: true, schema: listSchema(`x-kubernetes-list-map-keys: [k]`), base: `{l: [{k: 1}]}`, patch: `{l: [{k: 1, v: 2}]}`, want: `{l: [{k: 1, v: 2}]}`},
		{name: "keys are compared by value, not as they are written", lists: true, schema: named, base: `{l: [{name: 0x10}, {name: "x"}, {name: True}]}`, patch: `{l: [{name: 16, v: 1}, {name: 'x', v: 2}, {name: true, v: 3}, {name: "16"}]}`, want: `{l: [{name: 16, v: 1}, {name: 'x', v: 2}, {name: true, v: 3}, {name: "16"}]}`},
		{name: "delete an item", lists: true, schema: named, base: `{l: [{name: a}, {name: b}, {name: c}]}`, patch: `{l: [{$patch: delete, name: b}, {name: x, $patch: delete}]}`, want: `{l: [{name: a}, {name: c}]}`},
		{name: "delete by a default", lists: true, schema: ports, base: `{l: [{port: 1}, {port: 1, protocol: UDP}]}`, patch: `{l: [{$patch: delete, port: 1}]}`, want: `{l: [{port: 1, protocol: UDP}]}`},
		{name: "replace an item", lists: true, schema: named, base: `{l: [{name: a, v: 1}, {name: b}]}`, patch: `{l: [{$patch: replace, name: a, w: 2}, {$patch: merge, name: b, w: 3}]}`, want: `{l: [{name: a, w: 2}, {name: b, w: 3}]}`},
		{name: "replace the list", lists: true, schema: named, base: `{l: [{name: a, v: 1}, {name: b}]}`, patch: `{l: [{name: a}, {$patch: replace}, {$patch: delete, name: b}, {name: a}]}`, want: `{l: [{name: a}, {name: a}]}`},
		{name: "comments of items stay", lists: true, schema: named, base: "l:\n# first\n- name: a # A\n  v: 1\n# second\n- name: b\n", patch: "l:\n- {name: a, v: 2}\n", want: "l:\n# first\n- name: a # A\n  v: 2\n# second\n- name: b\n"},
		{name: "without a list in the base no keys are needed", schema: named, base: `{}`, patch: `{l: [1, {a: 1}, {a: 1}]}`, want: `{l: [1, {a: 1}, {a: 1}]}`},
		{name: "no key in the patch", lists: true, schema: named, base: `{l: [{name: a}]}`, patch: `{l: [{name: a}, {v: 1}]}`, err: `l[1]: the item of the patch has no value for the merge key "name", and the schema no default`},
		{name: "no key in the base", lists: true, schema: ports, base: `{l: [{protocol: UDP}]}`, patch: `{l: []}`, err: `l[0]: the item of the base has no value for the merge key "port", and the schema no default`},
		{name: "a key that is no scalar", lists: true, schema: named, base: `{l: []}`, patch: `{l: [{name: [a]}]}`, err: `l[0]: the merge key "name" of the item of the patch is a list`},
		{name: "twice in the base", lists: true, schema: ports, base: `{l: [{port: 1}, {port: 2}, {port: 1, protocol: TCP}]}`, patch: `{l: [{port: 3}]}`, err: `l[2]: items 0 and 2 of the base have the same "port", "protocol", which is to tell them apart`},
		{name: "twice in the patch", lists: true, schema: named, base: `{l: []}`, patch: `{l: [{name: a, $patch: delete}, {name: a}]}`, err: `l[1]: items 0 and 1 of the patch have the same "name", which is to tell them apart`},
		{name: "not a mapping", lists: true, schema: named, base: `{l: [{name: a}]}`, patch: `{l: [a]}`, err: `l[0]: the item of the patch is not a mapping, so it has none of the merge keys "name"`},
		{name: "deep down", lists: true, schema: `{additionalProperties: {items: {}, x-kubernetes-patch-merge-key: n, additionalProperties: {properties: {l: {x-kubernetes-patch-merge-key: name}}}}}`, base: `{a.b/c: {d: {l: [1]}}}`, patch: `{a.b/c: {d: {l: []}}}`, err: `["a.b/c"].d.l[0]: the item of the base is not a mapping, so it has none of the merge keys "name"`},
	}
}

func listCases() []mergeCase {
	return []mergeCase{
		{name: "a list without keys is replaced", lists: true, base: `{l: [1, 2]}`, patch: `{l: [2, null, {a: null}]}`, want: `{l: [2, {}]}`},
		{name: "replaced with style and comments", lists: true, base: "l: # of l\n# one\n- 1\n", patch: "l: [2] # two\n", want: "l: [2] # two\n"},
		{name: "emptied", lists: true, base: `{l: [1, 2]}`, patch: `{l: []}`, want: `{l: []}`},
		{name: "atomic", lists: true, schema: listSchema(`x-kubernetes-list-type: atomic, x-kubernetes-list-map-keys: [name]`), base: `{l: [{name: a, v: 1}]}`, patch: `{l: [{name: a}]}`, want: `{l: [{name: a}]}`},
		{name: "strategy replace", lists: true, schema: listSchema(`x-kubernetes-patch-strategy: replace, x-kubernetes-patch-merge-key: name`), base: `{l: [{name: a, v: 1}]}`, patch: `{l: [{name: a}]}`, want: `{l: [{name: a}]}`},
		{name: "atomic with a merge key", lists: true, schema: listSchema(`x-kubernetes-list-type: atomic, x-kubernetes-patch-merge-key: name`), base: `{l: [{name: a, v: 1}]}`, patch: `{l: [{name: a}]}`, want: `{l: [{name: a, v: 1}]}`},
		{name: "one key of several", lists: true, schema: listSchema(`x-kubernetes-patch-strategy: 'merge,retainKeys', x-kubernetes-patch-merge-key: a, x-kubernetes-list-map-keys: [a, b]`), base: `{l: [{a: 1, b: 1}, {a: 1, b: 2}]}`, patch: `{l: [{a: 1, b: 2, c: 3}]}`, want: `{l: [{a: 1, b: 1}, {a: 1, b: 2, c: 3}]}`},
		{name: "the merge key takes precedence over list keys", lists: true, schema: listSchema(`x-kubernetes-patch-merge-key: a, x-kubernetes-list-map-keys: [b]`), base: `{l: [{a: 1, b: 1}]}`, patch: `{l: [{a: 1, b: 2}]}`, want: `{l: [{a: 1, b: 2}]}`},
		{name: "set", lists: true, schema: set, base: `{l: [b, a, b, null]}`, patch: `{l: [c, a, null, c, "1", 1, 0x1]}`, want: `{l: [b, a, b, null, c, "1", 1]}`},
		{name: "set of mappings", lists: true, schema: set, base: `{l: [{a: 1, b: [2]}]}`, patch: `{l: [{b: [2], a: 1}, {a: 1}, {a: 1, c: null}]}`, want: `{l: [{a: 1, b: [2]}, {a: 1}]}`},
		{name: "strategy merge", lists: true, schema: listSchema(`x-kubernetes-patch-strategy: merge`), base: `{l: [a]}`, patch: `{l: [b, a]}`, want: `{l: [a, b]}`},
		{name: "replace in a set", lists: true, schema: set, base: `{l: [a]}`, patch: `{l: [b, {$patch: replace}, b]}`, want: `{l: [b, b]}`},
		{name: "replace in a list without keys", lists: true, base: `{l: [{a: 1}]}`, patch: `{l: [{$patch: replace}, {$patch: replace, b: 1}, {$patch: delete}]}`, want: `{l: [{b: 1}]}`},
		{name: "delete in a list without keys", lists: true, base: `{l: [{a: 1}]}`, patch: `{l: [1, {$patch: delete, a: 1}]}`, err: `l[1]: the item says $patch: delete, and the schema has no merge keys for the list to tell which one is meant`},
		{name: "delete in a set", lists: true, schema: set, base: `{l: [a]}`, patch: `{l: [{$patch: delete}]}`, err: `l[0]: the item says $patch: delete, and the schema has no merge keys for the list to tell which one is meant`},
		{name: "a list replaces a scalar", schema: set, base: `{l: [1], m: 1}`, patch: `{m: [1]}`, want: `{l: [1], m: [1]}`},
		{name: "the whole is a list", lists: true, schema: `{x-kubernetes-list-type: set}`, base: `[1]`, patch: `[2]`, want: `[1, 2]`},
	}
}

func schemaCases() []mergeCase {
	const base, patch = `{l: [{name: a, v: 1}]}`, `{l: [{name: a}]}`
	const merged, replaced = `{l: [{name: a, v: 1}]}`, `{l: [{name: a}]}`
	cases := []mergeCase{
		{name: "allOf", schema: `{allOf: [1, {properties: {l: {type: array}}}, {allOf: [{properties: {l: {x-kubernetes-patch-merge-key: name}}}]}]}`, want: merged},
		{name: "the first schema of allOf decides", schema: listSchema(`allOf: [{x-kubernetes-patch-strategy: replace}, {x-kubernetes-patch-strategy: merge}], x-kubernetes-patch-merge-key: name`), want: replaced},
		{name: "additionalProperties", schema: `{additionalProperties: {x-kubernetes-patch-merge-key: name}}`, want: merged},
		{name: "properties hide additionalProperties", schema: `{properties: {l: {}}, additionalProperties: {x-kubernetes-patch-merge-key: name}}`, want: replaced},
		{name: "a default in allOf", schema: listSchema(`x-kubernetes-list-map-keys: [name, k], items: {allOf: [{properties: {k: {default: [1]}}}, {properties: {k: {default: 1}}}]}`), want: merged},
		{name: "$ref is not followed", schema: `{properties: {l: {$ref: '#/d'}}, d: {x-kubernetes-patch-merge-key: name}}`, want: replaced},
		{name: "many properties", schema: "{properties: {" + strings.Repeat("x: 1, ", 40) + "l: {x-kubernetes-patch-merge-key: name}}}", want: merged},
		{name: "a large schema", schema: "{allOf: [" + strings.Repeat("{}, ", 1000) + "{properties: {l: {x-kubernetes-patch-merge-key: name}}}]}", want: replaced},
	}
	for _, malformed := range []string{
		``, `null`, `1`, `[]`, `{properties: 1}`, `{properties: [l]}`, `{properties: {l: true}}`, `{additionalProperties: true}`, `{allOf: {}}`, `{allOf: 1}`,
		listSchema(`x-kubernetes-patch-merge-key: 1`), listSchema(`x-kubernetes-patch-merge-key: [name]`), listSchema(`x-kubernetes-patch-merge-key: ''`),
		listSchema(`x-kubernetes-list-map-keys: name`), listSchema(`x-kubernetes-list-map-keys: []`), listSchema(`x-kubernetes-list-map-keys: [name, 1]`),
		listSchema(`x-kubernetes-list-map-keys: [name, name]`), listSchema(`x-kubernetes-list-type: map`), listSchema(`x-kubernetes-list-type: maps`),
		listSchema(`x-kubernetes-list-type: [set]`), listSchema(`x-kubernetes-patch-strategy: {}`), listSchema(`x-kubernetes-patch-strategy: retainKeys`),
		listSchema(`x-kubernetes-list-map-keys: {name: name}`), "{properties: &p {l: *p}}", "&a {allOf: [*a]}",
	} {
		cases = append(cases, mergeCase{name: "malformed: " + malformed, schema: malformed, want: replaced})
	}
	for i := range cases {
		cases[i].base, cases[i].patch, cases[i].lists = base, patch, true
	}
	return cases
}

func oddCases() []mergeCase {
	deep := strings.Repeat("[", 1100) + strings.Repeat("]", 1100)
	return []mergeCase{
		{name: "no base", base: ``, patch: `{a: {b: null}}`, want: `{a: {}}`},
		{name: "no patch", base: `{a: 1}`, patch: ``, want: `{a: 1}`},
		{name: "neither", base: ``, patch: ``, want: ``},
		{name: "a scalar", base: `{a: 1}`, patch: `2`, want: `2`},
		{name: "too deep", base: `{}`, patch: `{a: {b: ` + deep + `}}`, err: "a.b" + strings.Repeat("[0]", 8) + "…" + strings.Repeat("[0]", 10) + ": nested more than 1000 levels deep"},
		{name: "too deep a base", base: deep, patch: `{}`, err: strings.Repeat("[0]", 10) + "…" + strings.Repeat("[0]", 10) + ": nested more than 1000 levels deep"},
		{name: "alias", base: `{a: &a 1, b: *a}`, patch: `{}`, err: "b: an alias cannot be merged"},
		{name: "a key that is a mapping", base: `{}`, patch: `{a: [{? {b: 1} : 2}]}`, err: "a[0]: the key of a field must be text, not a mapping"},
		{name: "merge key", base: `{}`, patch: `{a: {<<: {b: 1}}}`, err: `a["<<"]: a merge key cannot be merged`},
		{name: "written twice", base: `{a: {b: 1, b: 2}}`, patch: `{}`, err: "a.b: the field is written twice"},
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	for _, c := range mergeCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			merged, lists, err := openapi.Merge(read(t, c.base), read(t, c.patch), read(t, c.schema))
			if lists != c.lists {
				t.Errorf("lists is %v", lists)
			}
			if err != nil || c.err != "" {
				if of := (*openapi.MergeError)(nil); err == nil || err.Error() != c.err || !errors.As(err, &of) || merged != nil {
					t.Fatalf("got %v\nand  %v\nwant %v", print(t, merged), err, c.err)
				}
				return
			}
			if got := print(t, merged); got != strings.TrimSuffix(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestMergeOfTreesWithoutText merges trees that a program made, and that no text parses to.
func TestMergeOfTreesWithoutText(t *testing.T) {
	t.Parallel()
	round := &yaml.Node{Kind: yaml.SequenceNode}
	round.Content = []*yaml.Node{round, round}
	wide := &yaml.Node{Kind: yaml.ScalarNode, Value: "x"}
	for range 30 {
		wide = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{wide, wide}}
	}
	loop := &yaml.Node{Kind: yaml.MappingNode}
	loop.Content = []*yaml.Node{yaml.NewStringRNode("allOf").YNode(), {Kind: yaml.SequenceNode, Content: []*yaml.Node{loop, loop}}}
	in := func(n *yaml.Node) *yaml.RNode {
		return yaml.NewRNode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{yaml.NewStringRNode("l").YNode(), n}})
	}
	for i, c := range []struct {
		tree *yaml.RNode
		err  string // empty if the merge succeeds
	}{
		{nil, ""},
		{yaml.NewRNode(nil), ""},
		{yaml.NewRNode(&yaml.Node{}), ""},
		{yaml.NewRNode(&yaml.Node{Kind: yaml.DocumentNode}), ""},
		{yaml.NewRNode(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{nil}}), ""},
		{yaml.NewRNode(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{wide, wide}}), "the document has more than one value"},
		{yaml.NewRNode(&yaml.Node{Kind: yaml.AliasNode}), "an alias cannot be merged"},
		{yaml.NewRNode(&yaml.Node{Kind: 77}), "a node of an unknown kind cannot be merged"},
		{yaml.NewRNode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{wide}}), "a mapping has a key without a value"},
		{yaml.NewRNode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{nil, nil}}), "the key of a field must be text, not nothing"},
		{in(nil), "l: the tree has a hole here"},
		{in(&yaml.Node{Kind: yaml.DocumentNode}), "l: a node of an unknown kind cannot be merged"},
		{in(&yaml.Node{}), ""},
		{in(round), "nested more than 1000 levels deep"},
		{in(wide), "more than 1048576 values"},
		{in(loop), "nested more than 1000 levels deep"},
		{yaml.NewRNode(loop), "nested more than 1000 levels deep"},
	} {
		good := read(t, `{l: [1]}`)
		for _, args := range [][3]*yaml.RNode{{c.tree, good, nil}, {good, c.tree, nil}} {
			_, _, err := openapi.Merge(args[0], args[1], args[2])
			if (err == nil) != (c.err == "") || err != nil && !strings.HasSuffix(err.Error(), c.err) {
				t.Errorf("%d: %v, want %q", i, err, c.err)
			}
			var wrong *openapi.MergeError
			if errors.As(err, &wrong) && wrong.TooMuch != strings.Contains(c.err, "more than 1") {
				t.Errorf("%d: %v exceeds a limit: %v", i, err, wrong.TooMuch)
			}
		}
		if _, _, err := openapi.Merge(good, good, c.tree); err != nil {
			t.Errorf("%d as a schema: %v", i, err)
		}
	}
}

func TestMergeKeepsTheDocumentOfTheBase(t *testing.T) {
	t.Parallel()
	doc := func(text string) *yaml.RNode {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		return yaml.NewRNode(&n)
	}
	merged, _, err := openapi.Merge(doc("# of the file\n\na: 1\n"), doc("b: 2\n"), doc("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := print(t, merged); got != "# of the file\n\na: 1\nb: 2" {
		t.Error(got)
	}
}

func read(t *testing.T, text string) *yaml.RNode {
	t.Helper()
	if text == "" {
		return nil
	}
	n, err := yaml.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func print(t *testing.T, n *yaml.RNode) string {
	t.Helper()
	text, err := n.String()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(text, "\n")
}

func ExampleMerge() {
	schema := yaml.MustParse(`
properties:
  ports:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [port, protocol]
    items:
      properties:
        protocol: {type: string, default: TCP}
`)
	base := yaml.MustParse(`
version: v1
ports:
- port: 80 # plain
  name: http
- port: 443
`)
	patch := yaml.MustParse(`
version: v2
ports:
- {port: 80, name: web}
- {port: 443, $patch: delete}
- {port: 443, protocol: UDP}
`)
	merged, lists, err := openapi.Merge(base, patch, schema)
	fmt.Print(merged.MustString(), lists, " ", err, "\n")
	// Output:
	// version: v2
	// ports:
	// - port: 80 # plain
	//   name: web
	// - {port: 443, protocol: UDP}
	// true <nil>
}
