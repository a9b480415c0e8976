package ui

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"unicode"
)

// Grapher is a value that has a form for people who would rather see it.
type Grapher interface{ Graph() Graph }

// Graph is clusters of nodes, and edges between them.
type Graph struct {
	Clusters []Cluster
	Edges    []Edge
}

// Cluster is a box around nodes. Its ID, as that of a Node, is of letters and digits, and
// no other cluster or node has it.
type Cluster struct {
	ID, Label string
	Nodes     []Node
}

// Node is a box in a Graph.
type Node struct{ ID, Label string }

// Edge leads from one node or cluster to another.
type Edge struct {
	From, To string // the IDs
	Label    string // may be empty
	Dashed   bool
}

// nothing stands in a cluster without nodes: neither language draws an empty one well.
const nothing = "(none of its own)"

// print writes the graph in one of its formats.
func (g Graph) print(format string) []byte {
	switch format {
	case "mermaid":
		return g.mermaid()
	case "dot":
		return g.dot()
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "```mermaid\n%s```\n\n```dot\n%s```\n", g.mermaid(), g.dot())
	return b.Bytes()
}

// mermaid writes the graph in the language of https://mermaid.js.org.
func (g Graph) mermaid() []byte {
	var b bytes.Buffer
	b.WriteString("flowchart TB\n")
	for _, c := range g.Clusters {
		fmt.Fprintf(&b, "  subgraph %s[%s]\n", c.ID, mermaidText(c.Label))
		for _, n := range c.Nodes {
			fmt.Fprintf(&b, "    %s[%s]\n", n.ID, mermaidText(n.Label))
		}
		if len(c.Nodes) == 0 {
			fmt.Fprintf(&b, "    %s_none[%s]\n", c.ID, mermaidText(nothing))
		}
		b.WriteString("  end\n")
	}
	for _, e := range g.Edges {
		arrow := "-->"
		if e.Dashed {
			arrow = "-.->"
		}
		if e.Label != "" {
			arrow += "|" + mermaidText(e.Label) + "|"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", e.From, arrow, e.To)
	}
	return b.Bytes()
}

// mermaidText writes a label. Mermaid looks for directives, Markdown, HTML and code points
// in its labels, so that whatever could be part of any is written as a code point: so is
// what stands before a space, because Mermaid draws no label that begins like a list.
func mermaidText(s string) string {
	runes := []rune(cmp.Or(oneLineOf(s), " ")) // no label may be empty
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range runes {
		mark := strings.ContainsRune("-./,()", r) && (i+1 == len(runes) || runes[i+1] != ' ')
		if mark || r == ' ' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// dot writes the graph in the language of Graphviz. Every cluster has a node that nobody
// sees, for the edges that lead from it or to it.
func (g Graph) dot() []byte {
	var b bytes.Buffer
	b.WriteString("digraph {\n  compound=true\n  node [shape=box]\n")
	clusters := map[string]bool{}
	for _, c := range g.Clusters {
		clusters[c.ID] = true
		fmt.Fprintf(&b, "  subgraph cluster_%s {\n    label=%s\n    %s [shape=point style=invis]\n", c.ID, dotText(c.Label), c.ID)
		for _, n := range c.Nodes {
			fmt.Fprintf(&b, "    %s [label=%s]\n", n.ID, dotText(n.Label))
		}
		if len(c.Nodes) == 0 {
			fmt.Fprintf(&b, "    %s_none [shape=plaintext label=%s]\n", c.ID, dotText(nothing))
		}
		b.WriteString("  }\n")
	}
	for _, e := range g.Edges {
		var with []string
		if clusters[e.From] {
			with = append(with, "ltail=cluster_"+e.From)
		}
		if clusters[e.To] {
			with = append(with, "lhead=cluster_"+e.To)
		}
		if e.Dashed {
			with = append(with, "style=dashed constraint=false")
		}
		if e.Label != "" {
			with = append(with, "label="+dotText(e.Label))
		}
		fmt.Fprintf(&b, "  %s -> %s", e.From, e.To)
		if len(with) > 0 {
			fmt.Fprintf(&b, " [%s]", strings.Join(with, " "))
		}
		b.WriteByte('\n')
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// dotText writes a label: quoted, and with the references to characters that Graphviz reads
// in it. A backquote, which is nothing to Graphviz, could end the block of Markdown that the
// graph stands in.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;", "`", "&#96;").Replace(oneLineOf(s)) + `"`
}

// oneLineOf is a label that is safe to show.
func oneLineOf(s string) string { return oneLine([]string{s})[0] }
