package cli

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/render"
	"github.com/krmcat/krmcat/verify"
)

// planView is a plan that has a form for people.
type planView struct{ *render.Plan }

// Table implements ui.Tabler.
func (p planView) Table() ui.Table {
	t := ui.Table{Title: p.Summary, Facts: [][2]string{{"Target", p.Kind}, {"Refused", strings.Join(p.Plan.Refused, "\n")}}}
	for _, c := range p.Catalogs {
		t.Facts = append(t.Facts, [2]string{"Catalog", c.Ref + evidence(c.Evidence)}, [2]string{"Signatures", signedText(c.Signed)})
	}
	for _, s := range p.Steps {
		t.Facts = append(t.Facts,
			[2]string{},
			[2]string{"Step", s.Where},
			[2]string{"Function", s.Function + " " + s.Name + " (" + string(s.Role) + ")"},
			[2]string{"Override", strings.Join(s.Overridden, "\n")},
			[2]string{"Runtime", runtimeText(s)},
			[2]string{"Runs", s.Ref},
			[2]string{"Arguments", argsText(s.Args)},
			[2]string{"Trust", strings.TrimSpace(evidence(s.Evidence))},
			[2]string{"Signatures", signedText(s.Signed)},
			[2]string{"Refused", strings.Join(s.Refused, "\n")},
			[2]string{"May", may(s)},
			[2]string{"Warning", strings.Join(s.Warnings, "\n")},
		)
	}
	if p.Counts.All+p.Counts.InTarget == 0 {
		t.Title = "No functions: kustomize builds it all."
	}
	for _, n := range p.Notes {
		t.Notes = append(t.Notes, "Note: "+n)
	}
	return t
}

// YAML implements ui.YAMLer: the summary comes first, as in the other formats.
func (p planView) YAML() ([]byte, error) {
	head, err := ui.YAML(map[string]string{"summary": p.Summary})
	if err != nil {
		return nil, err
	}
	rest, err := ui.YAML(struct {
		*render.Plan
		Summary *string `json:"summary,omitempty"` // in place of the plan's
	}{Plan: p.Plan})
	return append(head, rest...), err
}

// argsText are words as a shell would take them apart.
func argsText(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = strconv.Quote(a)
	}
	return strings.Join(quoted, " ")
}

// runtimeText says what runs a function, and who says so; "" where that is not known.
func runtimeText(s render.PlanStep) string {
	if s.By == "" {
		return s.Runtime
	}
	return s.Runtime + ", named by " + s.By
}

// may is how far a function reaches, nothing of one that may not run.
func may(s render.PlanStep) string {
	if len(s.Refused) > 0 {
		return ""
	}
	return strings.Join(s.Grant.Lines(), "\n")
}

// signedText says who signed, or that nobody did; "" for what cannot be signed, and where
// the evidence says it all.
func signedText(s render.Signed) string {
	if s.Unsigned {
		return "none was found"
	}
	if !slices.ContainsFunc(s.Signatures, func(one verify.Signature) bool { return !one.Verified }) {
		return s.Note
	}
	return cmp.Or(signatures(s.Signatures), s.Note)
}

// evidence is why something is trusted, a line for each reason.
func evidence(list []verify.Evidence) string {
	var b strings.Builder
	for _, ev := range list {
		b.WriteString("\n" + ev.Method + ": " + ev.Detail)
		if ev.Warning != "" {
			b.WriteString(" (" + ev.Warning + ")")
		}
	}
	return b.String()
}
