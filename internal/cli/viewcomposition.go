package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/pipeline"
)

func (e *env) viewCompositionCommand() *cli.Command {
	r := &renderCall{}
	o := &outputCall{}
	return &cli.Command{
		Name: "composition", Args: true, ArgsUsage: "[DIR]",
		Usage: "show a Composition with everything that it imports",
		Description: `Reads the Composition in DIR (default: .) and what it imports, and prints them as one
Composition, with the source of each transformer and what overrode it. This renders the same as the
original. To replace the original, write to another file first: a shell empties a file before the
command reads it.

Nothing runs. As in render, a catalog has to be trusted only if an override of a list needs the
schema of a function.`,
		Flags: slices.Concat(
			o.flags(ui.Drawn()), grouped(groupInput, r.restrictorFlag()),
			grouped(groupTrust, r.trustedFlag()), r.trust.flags(), connectionFlags(&r.registry),
		),
		Action: func(c *cli.Context) error { return e.viewComposition(c, r, o) },
	}
}

func (e *env) viewComposition(c *cli.Context, r *renderCall, o *outputCall) error {
	r.Allow.Limits.Timeout = defaultTimeout // there is no flag for it, because nothing runs
	if err := r.target(c); err != nil {
		return err
	}
	if err := e.renderOptions(c, r); err != nil {
		return err
	}
	progress := e.shown
	renderer, err := e.renderer(r.registry, notify(progress))
	if err != nil {
		return err
	}
	consolidated, err := renderer.Consolidate(c.Context, r.Options)
	if err != nil {
		return err
	}
	progress.Done()
	return e.show(c, o, compositionView{consolidated})
}

// compositionView is a consolidated Composition.
type compositionView struct{ *pipeline.Consolidated }

// Table implements ui.Tabler.
func (v compositionView) Table() ui.Table {
	var imports []string
	for _, s := range v.Sources[1:] {
		imports = append(imports, s.File)
	}
	t := ui.Table{
		Facts: [][2]string{
			{"Composition", v.File}, {"Imports", strings.Join(imports, "\n")}, {"Catalogs", strings.Join(v.Catalogs, "\n")},
			{"Transformers", fmt.Sprint(len(v.Transformers))},
		},
		Header: []string{"", "APIVERSION", "KIND", "NAME", "FROM", "OVERRIDDEN AT"},
	}
	for i, one := range v.Transformers {
		name := one.Name
		if one.Namespace != "" {
			name = one.Namespace + "/" + name
		}
		t.Rows = append(t.Rows, []string{strconv.Itoa(i + 1), one.APIVersion, one.Kind, name, one.From, strings.Join(one.Overridden, ", ")})
	}
	if v.Outside {
		t.Notes = append(t.Notes, "It names files outside of its directory: --load-restrictor "+anywhere+" lets them be read.")
	}
	return t
}

// Graph implements ui.Grapher.
func (v compositionView) Graph() ui.Graph {
	var g ui.Graph
	cluster := func(i int) string { return fmt.Sprintf("c%d", i) }
	node := func(i int) string { return fmt.Sprintf("t%d", i+1) }
	for i := 1; i < len(v.Transformers); i++ {
		g.Edges = append(g.Edges, ui.Edge{From: node(i - 1), To: node(i)})
	}
	for i, s := range v.Sources {
		c := ui.Cluster{ID: cluster(i), Label: s.File}
		for _, t := range s.Transformers {
			c.Nodes = append(c.Nodes, ui.Node{ID: node(t), Label: fmt.Sprintf("%d %s", t+1, v.Transformers[t])})
		}
		g.Clusters = append(g.Clusters, c)
		for _, in := range s.Imports {
			g.Edges = append(g.Edges, ui.Edge{From: cluster(i), To: cluster(in.Source), Label: in.Mode, Dashed: true})
		}
		for _, t := range s.Overrides {
			g.Edges = append(g.Edges, ui.Edge{From: cluster(i), To: node(t), Label: "overrides", Dashed: true})
		}
	}
	return g
}
