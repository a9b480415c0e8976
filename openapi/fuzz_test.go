package openapi_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/openapi"
)

// FuzzMerge checks what holds for every patch:
//   - The same arguments give the same result, and Merge does not change them.
//   - An empty patch changes nothing.
//   - No null and no directive of the patch is in the result.
//   - If Merge returns false for lists, the schema makes no difference.
//   - A patch that is merged again changes nothing more. Merge may refuse it the second time: the
//     items of a new list need no keys, but those of an existing list do. This can only happen with
//     a schema or a directive.
func FuzzMerge(f *testing.F) {
	for _, c := range mergeCases() {
		if len(c.base)+len(c.patch)+len(c.schema) < 1000 {
			f.Add(c.base, c.patch, c.schema)
		}
	}
	f.Fuzz(func(t *testing.T, baseText, patchText, schemaText string) {
		base, patch, schema := fuzzed(baseText), fuzzed(patchText), fuzzed(schemaText)
		args := func() string { return dump(base) + dump(patch) + dump(schema) }
		before := args()
		merged, lists, err := openapi.Merge(base, patch, schema)
		again, lists2, err2 := openapi.Merge(base, patch, schema)
		if dump(merged) != dump(again) || lists != lists2 || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Errorf("the first call returns\n%s%v %v\nthe second\n%s%v %v", dump(merged), lists, err, dump(again), lists2, err2)
		}
		if err == nil {
			checkMerged(t, base, patch, merged)
			checkAgain(t, merged, patch, schema)
		}
		if without, _, err2 := openapi.Merge(base, patch, nil); !lists && (dump(without) != dump(merged) || fmt.Sprint(err) != fmt.Sprint(err2)) {
			t.Errorf("with a schema it returns\n%s%v\nwithout\n%s%v", dump(merged), err, dump(without), err2)
		}
		checkNothing(t, base, schema)
		if after := args(); after != before {
			t.Errorf("the call changed the arguments from\n%s\nto\n%s", before, after)
		}
	})
}

func checkMerged(t *testing.T, base, patch, merged *yaml.RNode) {
	t.Helper()
	var ofBase, ofPatch, got census
	ofBase.count(base)
	ofPatch.count(patch)
	got.count(merged)
	if got.nulls > ofBase.nulls || got.directives > ofBase.directives {
		t.Errorf("the result has a null or a directive of the patch: %+v, the base has %+v", got, ofBase)
	}
	for n := range got.nodes {
		if ofBase.nodes[n] || ofPatch.nodes[n] {
			t.Fatalf("line %d: the result shares a node with an argument", n.Line)
		}
	}
}

func checkAgain(t *testing.T, merged, patch, schema *yaml.RNode) {
	t.Helper()
	if merged == nil {
		return // everything was deleted, and the patch would be new content
	}
	twice, lists, err := openapi.Merge(merged, patch, schema)
	var of census
	of.count(patch)
	switch {
	case err != nil && (!lists || schema == nil && of.directives == 0):
		t.Errorf("Merge refuses the patch the second time: %v\n%s", err, dump(merged))
	case err == nil && dump(twice) != dump(merged):
		t.Errorf("merged once\n%s\nmerged twice\n%s", dump(merged), dump(twice))
	}
}

// checkNothing merges two empty patches.
func checkNothing(t *testing.T, base, schema *yaml.RNode) {
	t.Helper()
	for _, nothing := range []*yaml.RNode{nil, yaml.NewMapRNode(nil)} {
		merged, lists, err := openapi.Merge(base, nothing, schema)
		if err != nil || nothing != nil && (base == nil || base.YNode().Kind != yaml.MappingNode) {
			continue
		}
		if lists || dump(merged) != dump(base) {
			t.Errorf("an empty patch changed\n%s\nto\n%s", dump(base), dump(merged))
		}
	}
}

// census counts nodes of a tree.
type census struct {
	nulls, directives int
	nodes             map[*yaml.Node]bool
}

func (c *census) count(rn *yaml.RNode) {
	if rn != nil {
		c.nodes = map[*yaml.Node]bool{}
		c.add(rn.Document())
	}
}

func (c *census) add(n *yaml.Node) {
	c.nodes[n] = true
	for i, child := range n.Content {
		key := n.Kind == yaml.MappingNode && i%2 == 0
		switch {
		case key && strings.HasPrefix(child.Value, "$patch"):
			c.directives++
		case !key && child.Kind == yaml.ScalarNode && child.ShortTag() == yaml.NodeTagNull:
			c.nulls++
		}
		c.add(child)
	}
}

// fuzzed returns a text as the parser returns it, including aliases.
func fuzzed(text string) (rn *yaml.RNode) {
	defer func() {
		if recover() != nil { // the parser may panic
			rn = nil
		}
	}()
	var n yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader([]byte(text))).Decode(&n); err != nil || len(n.Content) == 0 {
		return nil
	}
	return yaml.NewRNode(&n)
}

// dump returns everything in a tree that is printed, one line for each node.
func dump(rn *yaml.RNode) string {
	if rn == nil {
		return "nothing\n"
	}
	var b strings.Builder
	var walk func(n *yaml.Node, depth int)
	walk = func(n *yaml.Node, depth int) {
		fmt.Fprintf(&b, "%d: %d %s %q %d %q %q %q %q\n", depth, n.Kind, n.Tag, n.Value, n.Style, n.Anchor, n.HeadComment, n.LineComment, n.FootComment)
		for _, c := range n.Content {
			walk(c, depth+1)
		}
	}
	n := rn.Document()
	if n.Kind == yaml.DocumentNode && n.HeadComment == "" && n.FootComment == "" {
		n = n.Content[0] // a document without comments is printed as its value
	}
	walk(n, 0)
	return b.String()
}
