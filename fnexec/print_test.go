package fnexec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// sameAsLibrary compares the output of appendEntry with the library's.
func sameAsLibrary(t *testing.T, n *yaml.Node) (simple bool) {
	t.Helper()
	got, ok := appendEntry(nil, n)
	if !ok {
		return false
	}
	want, err := encode(&yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq, Content: []*yaml.Node{n}})
	if err != nil {
		t.Fatalf("printed, where the library says %v:\n%s", err, got)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Fatal(diff)
	}
	return true
}

const everyday = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-1
  labels: {}
  annotations:
    config.k8s.io/id: '1'
    quoted: "it's"
    single: 'it''s'
    kustomize.config.k8s.io/id: |
      kind: Deployment
      name: app-1
    text: |-
      #!/bin/sh
      # comment: of a script

        indented: "yes"
spec:
  replicas: 2
  paused: false
  ratio: 0.5
  nothing: null
  tolerations: []
  day: 2001-01-01
  template:
    spec:
      containers:
      - name: main
        image: registry.example.com:5000/app@sha256:0123abcd
        args: []
        flags: [--verbose, "--port=8080", -x, {a: 1, b: ['c', d]}]
        options:
        - --verbose
        - -x
        - -1
        command:
        - a
        - - b
          - - c
          - d: e
            f: |
              g
        - |
          text in a list
        - "true"
        - 'no'
        resources:
          limits:
            cpu: 100m
            memory: 128Mi
        ports:
        - containerPort: 8080
`

// What occurs in every resource has to be printed by appendEntry.
func TestEverydayResourcesAreSimple(t *testing.T) {
	t.Parallel()
	n := yaml.MustParse(everyday).YNode()
	if !sameAsLibrary(t, n) {
		t.Error("the library has to print it")
	}
	list := &ResourceList{Items: []*yaml.RNode{yaml.NewRNode(n)}}
	if _, err := tagItems(list.Items); err != nil {
		t.Fatal(err)
	}
	if !sameAsLibrary(t, n) {
		t.Error("the library has to print it, once it was tagged")
	}
}

// Items that are simple and items that are not stay in order.
func TestEncodeKeepsTheOrder(t *testing.T) {
	t.Parallel()
	var items []*yaml.RNode
	for i := range 100 {
		text := "kind: A\nmetadata:\n  name: a" + string(rune('a'+i%26)) + "\n"
		if i%3 == 0 || i%5 == 0 {
			text += "# a comment\nb: {c: d}\n"
		}
		items = append(items, yaml.MustParse(text))
	}
	batches, err := encodeItems(items)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, b := range batches {
		got += string(b)
	}
	var nodes []*yaml.Node
	for _, item := range items {
		nodes = append(nodes, item.YNode())
	}
	want, err := encode(&yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq, Content: nodes})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// FuzzPrint prints what was parsed.
func FuzzPrint(f *testing.F) {
	for _, s := range []string{
		everyday, "a: b: c\n", "a: |\n  b\n\n   c\n  d \ne: >\n  f\n", "- [a, {b: c}]\n- !!int 1\n- &a b\n- *a\n- !x {}\n", "? a\n: b\n? |\n  c\n: d\n",
		"a: ''\nb: \"\"\nc:\nd: ~\ne: .nan\nf: <<\ng: 0x1f\nh: +1\ni: 1:30\nj: on\nk: !!str 1\nl: 1_0\n", "a: \"b\\tc\"\nb: größe\nc: \" d \"\n'e': f\n",
		"a: |+\n  b\n\nc: |2\n   d\ne: |\n  \tf\n", "- - - a\n- - b: c\n    d:\n    - e\n", "a: # b\n  c: d # e\n",
		"- [a, [], {}, [b, {c: d, 'e': [f]}]]\n- {a: [1], b: {c: null}}\n- [\"a, b\", 'c: d', a:b, -- , --a, -, -1, ---a]\n- - [a]\n  - {b: c}\n- --\n- ---\n- -a\n- -/\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := parse(data)
		if err != nil {
			return
		}
		for _, d := range docs {
			sameAsLibrary(t, d)
		}
	})
}

// FuzzPrintTree prints trees that no parser makes, as functions in this process and embedding
// programs may.
func FuzzPrintTree(f *testing.F) {
	f.Add([]byte{2, 2, 0, 0, 3, 3, 0, 0, 1, 2, 0, 0, 0, 0, 1, 1, 0, 5, 1, 0}, "a", "true")
	f.Add([]byte{1, 3, 1, 1, 0, 4, 1, 0, 2, 0, 0, 3, 0, 0, 0, 9}, "a\nb\n", "1.5")
	f.Add([]byte{}, "0x", " ")
	f.Add([]byte{1, 0, 0, 1, 2, 0, 0, 1, 0, 0, 1, 2, 0, 0, 0, 2}, "", "") // a literal key
	f.Add([]byte{0, 1, 1, 10}, "", "")                                    // a space at the end of a line
	f.Fuzz(func(t *testing.T, plan []byte, a, b string) {
		b1 := treeBuilder{plan: plan, words: []string{a, b, "a", "kind", "", "null", "1", "a: b", "two\nlines", "end\n", "a \nb\n"}}
		sameAsLibrary(t, b1.node(0))
	})
}

// treeBuilder makes a tree by a plan: the kind, tag, style and text of each node.
type treeBuilder struct {
	plan  []byte
	words []string
}

func (b *treeBuilder) next() int {
	if len(b.plan) == 0 {
		return 0
	}
	n := b.plan[0]
	b.plan = b.plan[1:]
	return int(n)
}

func (b *treeBuilder) node(depth int) *yaml.Node {
	kind := []yaml.Kind{yaml.ScalarNode, yaml.SequenceNode, yaml.MappingNode, yaml.ScalarNode}[b.next()%4]
	tags := []string{"", yaml.NodeTagString, yaml.NodeTagInt, yaml.NodeTagBool, yaml.NodeTagNull, yaml.NodeTagFloat, "!x"}
	styles := []yaml.Style{0, yaml.LiteralStyle, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle, yaml.FoldedStyle, yaml.TaggedStyle, yaml.FlowStyle}
	n := &yaml.Node{Kind: kind, Tag: tags[b.next()%len(tags)], Style: styles[b.next()%len(styles)]}
	if kind == yaml.ScalarNode {
		n.Value = b.words[b.next()%len(b.words)]
		return n
	}
	n.Tag = ""
	for range b.next() % 4 {
		if depth > 5 {
			break
		}
		if kind == yaml.MappingNode {
			n.Content = append(n.Content, b.node(6))
		}
		n.Content = append(n.Content, b.node(depth+1))
	}
	return n
}
