package cli

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/render"
	"github.com/krmcat/krmcat/verify"
)

// planView is a plan with a table for people, in which digests that nobody has to type are
// shortened and nothing is repeated. The other formats are complete.
type planView struct{ *render.Plan }

// Table implements ui.Tabler.
func (p planView) Table() ui.Table {
	t := ui.Table{Title: p.Summary, Facts: [][2]string{{"Target", p.Kind}, {"Refused", strings.Join(p.Plan.Refused, "\n")}}}
	var names []string // numbers of catalogs, by reference
	for i, c := range p.Catalogs {
		name := fmt.Sprintf("[%d]", i+1)
		t.Facts = append(t.Facts,
			[2]string{"Catalog", name + " " + shortDigests(c.Ref) + evidence(worded(c.Evidence, shortDigests))},
			[2]string{"Signatures", shortDigests(signedText(c.Signed))},
		)
		names = append(names, c.Ref, name)
	}
	named := strings.NewReplacer(names...)
	short := func(text string) string { return shortDigests(named.Replace(text)) }
	for _, same := range sameSteps(p.Steps) {
		s := same[0]
		where, name := s.Where, " "+s.Name
		for i, one := range same {
			if len(same) > 1 {
				where, name = prefixedLine(where, i, one), ""
			}
		}
		t.Facts = append(t.Facts, [][2]string{
			{},
			{"Step", short(where)},
			{"Function", short(s.Function + name + " (" + string(s.Role) + ")")},
			{"Entry", s.Entry},
			{"Config", s.Config},
			{"Replaces", s.Replaces},
			{"Override", short(strings.Join(s.Overridden, "\n"))},
			{"Runtime", short(runtimeText(s))},
			{"Runs", short(s.Ref)},
			{"Arguments", short(argsText(s.Args))},
			{"Trust", strings.TrimSpace(evidence(worded(withoutChain(s.Evidence), short)))},
			{"Signatures", short(signedText(s.Signed))},
			{"Refused", short(strings.Join(s.Refused, "\n"))},
			{"May", short(may(s))},
			{"Warning", named.Replace(strings.Join(s.Warnings, "\n"))}, // may have a reference to write
		}...)
	}
	if p.Counts.All+p.Counts.InTarget == 0 {
		t.Title = "No functions: kustomize builds everything."
	}
	for _, n := range p.Notes {
		t.Notes = append(t.Notes, "Note: "+n)
	}
	return t
}

// withoutChain removes the evidence of the catalog that pins a program, which the catalog has
// already.
func withoutChain(list []verify.Evidence) []verify.Evidence {
	out := slices.Clone(list)
	for i := range out {
		if out[i].Method == "chain" {
			out[i].Detail = "a verified catalog pins it"
		}
	}
	return out
}

// worded shortens the details of evidence, but not warnings, which may contain a reference to
// write.
func worded(list []verify.Evidence, short func(string) string) []verify.Evidence {
	out := slices.Clone(list)
	for i := range out {
		out[i].Detail = short(out[i].Detail)
	}
	return out
}

// prefixedLine adds the place and name of the i-th of several similar Steps to the lines before.
func prefixedLine(lines string, i int, s render.PlanStep) string {
	line := s.Where + ": " + s.Name
	if i == 0 {
		return line
	}
	return lines + "\n" + line
}

// sameSteps groups Steps that differ only in their place and name.
func sameSteps(steps []render.PlanStep) [][]render.PlanStep {
	var out [][]render.PlanStep
	for _, s := range steps {
		i := slices.IndexFunc(out, func(same []render.PlanStep) bool {
			first := same[0]
			first.Where, first.Name = s.Where, s.Name
			return reflect.DeepEqual(first, s) //nolint:govet // the same error is the same pointer
		})
		if i < 0 {
			out = append(out, []render.PlanStep{s})
			continue
		}
		out[i] = append(out[i], s)
	}
	return out
}

// shortDigests shortens the digests in a text.
func shortDigests(text string) string {
	return regexp.MustCompile(`(sha256:[0-9a-f]{12})[0-9a-f]{52}`).ReplaceAllString(text, "$1…")
}

// YAML implements ui.YAMLer. The summary comes first, as in the other formats.
func (p planView) YAML() ([]byte, error) {
	head, err := ui.YAML(map[string]string{"summary": p.Summary})
	if err != nil {
		return nil, err
	}
	rest, err := ui.YAML(struct {
		*render.Plan
		Summary *string `json:"summary,omitempty"` // hides that of the plan
	}{Plan: p.Plan})
	return append(head, rest...), err
}

// argsText formats arguments as a shell reads them.
func argsText(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = strconv.Quote(a)
	}
	return strings.Join(quoted, " ")
}

// runtimeText returns the runtime of a function and who chose it; "" if that is not known.
func runtimeText(s render.PlanStep) string {
	if s.By == "" {
		return s.Runtime
	}
	return s.Runtime + ", named by " + s.By
}

// may lists the permissions of a function; "" for one that may not run.
func may(s render.PlanStep) string {
	if len(s.Refused) > 0 {
		return ""
	}
	return strings.Join(s.Grant.Lines(), "\n")
}

// signedText returns the signers, or that there are none; "" for content that cannot be signed, and
// if the evidence names them.
func signedText(s render.Signed) string {
	if s.Unsigned {
		return "none"
	}
	if !slices.ContainsFunc(s.Signatures, func(one verify.Signature) bool { return !one.Verified }) {
		return s.Note
	}
	return cmp.Or(signatures(s.Signatures), s.Note)
}

// evidence formats evidence, a line for each.
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
