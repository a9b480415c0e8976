package ui_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/internal/cli/ui"
)

type drawing struct{ graph ui.Graph }

func (d drawing) Graph() ui.Graph { return d.graph }

func draw(t testing.TB, format string, g ui.Graph) string {
	t.Helper()
	if err := ui.Drawn().Check(format); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	if err := ui.Print(&b, format, drawing{g}); err != nil {
		t.Error(err)
	}
	return b.String()
}

// hostile returns labels that have to be escaped.
func hostile() ui.Graph {
	return ui.Graph{
		Clusters: []ui.Cluster{
			{ID: "c0", Label: "a\"] --> b[\"x\nend", Nodes: []ui.Node{
				{"t1", "<b>&lt;</b> `code` **x** 1. one"}, {"t2", "%%{init: {}}%% #quot; \\N \\"},
				{"t3", "- list"}, {"t4", "\x1b[1m```\u202e ünï"},
			}},
			{ID: "c1", Label: ""},
		},
		Edges: []ui.Edge{{From: "t1", To: "t2"}, {From: "c1", To: "c0", Label: "\"|x|\"", Dashed: true}},
	}
}

func TestGraph(t *testing.T) {
	t.Parallel()
	const want = "```mermaid\n" + `flowchart TB
  subgraph c0["a#34;#93; --#62; b#91;#34;x end"]
    t1["#60;b#62;#38;lt#59;#60;/b#62; #96;code#96; #42;#42;x#42;#42; 1#46; one"]
    t2["#37;#37;#123;init#58; #123;#125;#125;#37;#37; #35;quot#59; #92;N #92;"]
    t3["#45; list"]
    t4["#92;u001b#91;1m#96;#96;#96;#92;u202e ünï"]
  end
  subgraph c1[" "]
    c1_none["(none of its own)"]
  end
  t1 --> t2
  c1 -.->|"#34;#124;x#124;#34;"| c0
` + "```\n\n```dot\n" + `digraph {
  compound=true
  node [shape=box]
  subgraph cluster_c0 {
    label="a\"] --> b[\"x end"
    c0 [shape=point style=invis]
    t1 [label="<b>&amp;lt;</b> &#96;code&#96; **x** 1. one"]
    t2 [label="%%{init: {}}%% #quot; \\N \\"]
    t3 [label="- list"]
    t4 [label="\\u001b[1m&#96;&#96;&#96;\\u202e ünï"]
  }
  subgraph cluster_c1 {
    label=""
    c1 [shape=point style=invis]
    c1_none [shape=plaintext label="(none of its own)"]
  }
  t1 -> t2
  c1 -> c0 [ltail=cluster_c1 lhead=cluster_c0 style=dashed constraint=false label="\"|x|\""]
}
` + "```\n"
	if diff := cmp.Diff(want, draw(t, "graph", hostile())); diff != "" {
		t.Error(diff)
	}
}

// TestGraphsAreForGraphers checks that other values are not drawn.
func TestGraphsAreForGraphers(t *testing.T) {
	t.Parallel()
	if err := ui.Data().Check("mermaid"); err == nil || strings.Contains(err.Error(), "dot") {
		t.Errorf("%v", err)
	}
	if err := ui.Drawn().Check("svg"); err == nil || !strings.Contains(err.Error(), "mermaid") {
		t.Errorf("%v", err)
	}
	var b bytes.Buffer
	if err := ui.Print(&b, "dot", fruit{}); err == nil || b.Len() > 0 {
		t.Errorf("%v: %s", err, b.String())
	}
}

// FuzzGraph checks that no label ends its quotes.
func FuzzGraph(f *testing.F) {
	f.Add("plain")
	f.Add("a\"b\\\n#1;`")
	mermaid := regexp.MustCompile(`\A[^"]*\["(?:[\pL\p{Nd} ./,()-]|#[0-9]+;)*"\]\n`)
	dot := regexp.MustCompile(`\A[^"]*label="(?:[^"\\\n` + "`" + `]|\\[\\"])*"\n`)
	f.Fuzz(func(t *testing.T, label string) {
		g := ui.Graph{Clusters: []ui.Cluster{{ID: "c", Label: label}}}
		if got := draw(t, "mermaid", g); !mermaid.MatchString(got) {
			t.Errorf("%q", got)
		}
		if got := draw(t, "dot", g); !dot.MatchString(got) {
			t.Errorf("%q", got)
		}
	})
}
