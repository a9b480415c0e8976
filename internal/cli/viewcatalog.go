package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/render"
	"github.com/krmcat/krmcat/verify"
)

// catalogView has what is needed to decide whether to trust a catalog.
type catalogView struct {
	Kind        string            `json:"kind"`
	Name        string            `json:"name"`
	Publishers  []string          `json:"publishers,omitempty"` // of its functions, as the catalog claims
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"` // of the artifact
	Source      string            `json:"source"`
	Digest      string            `json:"digest"`
	Trust       render.Audited    `json:"trust"` // the verdict of the policy in force
	Functions   []functionRow     `json:"functions"`

	judged bool   // there is a policy or a digest
	entry  string // the entry of the user's config that trusts it; "" for none
}

// functionRow is a function with all its versions.
type functionRow struct {
	Name        string     `json:"name"` // by which runtime: {function: NAME} finds it
	Group       string     `json:"group"`
	Kind        string     `json:"kind"`
	Versions    []string   `json:"versions"`
	Runtimes    []string   `json:"runtimes"`
	Network     bool       `json:"network"` // at least one version requests it
	Storage     bool       `json:"storage"`
	Pinned      bool       `json:"pinned"`             // all references have a digest
	Replaces    []imageRow `json:"replaces,omitempty"` // images that it replaces
	Publisher   string     `json:"publisher,omitempty"`
	Description string     `json:"description,omitempty"`
}

func (e *env) viewCatalogCommand() *cli.Command {
	var o registry.Options
	var t trustCall
	out := &outputCall{}
	return &cli.Command{
		Name: catalogName, Args: true, ArgsUsage: "REF",
		Usage: "list the functions of a catalog, what they ask for, and who signed it",
		Description: `A catalog need not be trusted to be shown. The policy in force judges its signatures; without a
policy, the signatures are listed with what they claim.`,
		Flags: slices.Concat(out.flags(ui.Data()), t.flags(), connectionFlags(&o)),
		Action: func(c *cli.Context) error {
			ref, err := oneArg(c, "reference")
			if err != nil {
				return err
			}
			from, err := place(c, ref)
			if err != nil {
				return err
			}
			f, err := e.catalog(c.Context, o, from)
			if err != nil {
				return err
			}
			u, policy, err := e.trust(c, &t)
			if err != nil {
				return err
			}
			v := newCatalogView(f)
			renderer, err := e.renderer(o, nil)
			if err != nil {
				return err
			}
			v.Trust = renderer.AuditCatalog(c.Context, render.AuditOptions{Policy: policy, Dir: e.Dir, ConfigTrusted: u.catalogs}, f.artifact)
			v.judged = policy.Enforces() || policy.RequireDigests || !v.Trust.Audit && !unjudged(v.Trust.Err)
			for _, entry := range u.catalogs {
				if entry.Pattern.Match(f.artifact.From.At(e.Dir)) {
					v.entry = entry.Where
				}
			}
			return e.show(c, out, v)
		},
	}
}

// unjudged reports whether no rule applies to it.
func unjudged(err error) bool {
	var no *verify.UntrustedError
	return errors.As(err, &no) && no.NoRule
}

func newCatalogView(f fetched) catalogView {
	v := catalogView{
		Kind: f.Kind, Name: f.Name, Labels: f.Labels, Annotations: f.artifact.Annotations,
		Source: f.artifact.From.Display(), Digest: f.artifact.Root.Digest.String(), Functions: []functionRow{},
	}
	for _, g := range f.Groups() {
		row := newFunctionRow(g)
		v.Functions = append(v.Functions, row)
		v.Publishers = append(v.Publishers, row.Publisher)
	}
	v.Publishers = unique(v.Publishers)
	return v
}

func newFunctionRow(g catalog.FunctionGroup) functionRow {
	row := functionRow{Name: g.Name, Group: g.Group, Kind: g.Kind, Pinned: true, Versions: []string{}, Runtimes: []string{}}
	for _, fn := range g.Versions {
		row.Versions = append(row.Versions, fn.ID.Version)
		row.Description = cmp.Or(row.Description, fn.Description)
		row.Publisher = cmp.Or(row.Publisher, fn.Publisher)
		for _, rt := range fn.Runtimes {
			v := viewRuntime(rt.Kind, fnexec.NewSpec(rt.Spec, rt.Kind))
			row.Runtimes = append(row.Runtimes, rt.Kind)
			row.Network, row.Storage = row.Network || v.Network, row.Storage || v.Storage
			row.Pinned = row.Pinned && v.Pinned
		}
	}
	row.Replaces = imageRows(g.Versions...)
	row.Versions, row.Runtimes = unique(row.Versions), unique(row.Runtimes)
	row.Pinned = row.Pinned && len(row.Runtimes) > 0
	return row
}

// Table implements ui.Tabler.
func (v catalogView) Table() ui.Table {
	t := ui.Table{
		Facts: [][2]string{
			{"Catalog", oneLine(v.Name)}, {"Publisher", oneLine(strings.Join(v.Publishers, ", "))},
			{"Labels", pairs(v.Labels)}, {"Annotations", pairs(v.Annotations)},
			{"Source", v.Source}, {"Digest", v.Digest}, {"Trust", v.trust()},
			{"Signatures", cmp.Or(signatures(v.Trust.Signatures), v.Trust.Note, "none")}, {"Functions", fmt.Sprint(len(v.Functions))},
		},
		Header: []string{"GROUP", "KIND", "NAME", "VERSIONS", "RUNTIMES", "NETWORK", "STORAGE", "PINNED", "DESCRIPTION"},
	}
	for _, f := range v.Functions {
		for _, row := range f.Replaces {
			t.Notes = append(t.Notes, oneLine(f.Name)+" replaces the image "+row.text+".")
		}
		t.Rows = append(t.Rows, []string{
			cmp.Or(f.Group, "-"), f.Kind, oneLine(f.Name), strings.Join(f.Versions, ","), cmp.Or(strings.Join(f.Runtimes, ","), "-"),
			yesNo(f.Network), yesNo(f.Storage), yesNo(f.Pinned), f.Description,
		})
	}
	return t
}

// trust formats the verdict of the policy in force.
func (v catalogView) trust() string {
	switch a := v.Trust; {
	case a.Problem != "":
		return "could not be verified: " + a.Problem
	case a.Trusted:
		return strings.TrimSpace(evidence(a.Evidence))
	case !v.judged && v.entry != "":
		return "not verified: no policy is set; trusted by " + v.entry + evidence(a.Evidence)
	case !v.judged:
		return "not verified: no policy is set" + evidence(a.Evidence)
	default:
		return "not trusted: " + strings.Join(a.Reasons, "\n")
	}
}

// pairs formats a map in one line, sorted.
func pairs(m map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, key+"="+m[key])
	}
	return oneLine(strings.Join(out, ", "))
}

// oneLine replaces line breaks in text of strangers, so that it cannot imitate lines of krmcat.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
