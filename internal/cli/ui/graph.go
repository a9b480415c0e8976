package ui

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"unicode"
)

// Grapher is a value that can be drawn as a graph.
type Grapher interface{ Graph() Graph }

// Graph has clusters of nodes, and edges between them.
type Graph struct {
	Clusters []Cluster
	Edges    []Edge
}

// Cluster is a box around nodes. Its ID, as that of a Node, has only letters and digits, and is
// unique among clusters and nodes.
type Cluster struct {
	ID, Label string
	Nodes     []Node
}

// Node is a box in a Graph.
type Node struct{ ID, Label string }

// Edge is an arrow from one node or cluster to another.
type Edge struct {
	From, To string // the IDs
	Label    string // may be empty
	Dashed   bool
}

// nothing is the label in a cluster without nodes, since neither language draws an empty one well.
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

// mermaidText writes a label. Mermaid interprets directives, Markdown, HTML and code points in
// labels, so characters that could be part of one are written as code points. So is the character
// before a space, because Mermaid draws no label that begins like a list.
func mermaidText(s string) string {
	runes := []rune(cmp.Or(oneLineOf(s), " ")) // a label may not be empty
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

// dot writes the graph in the language of Graphviz. Each cluster has an invisible node for the
// edges from and to the cluster.
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

// dotText writes a label, quoted, with special characters as character references. A backquote has
// no meaning for Graphviz, but could end the block of Markdown that contains the graph.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;", "`", "&#96;").Replace(oneLineOf(s)) + `"`
}

// oneLineOf returns a label in one line that is safe to show.
func oneLineOf(s string) string { return oneLine([]string{s})[0] }
