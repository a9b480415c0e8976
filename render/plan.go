package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// Plan is what a render would do: every function with what it is, why it may run and how
// far it may reach.
type Plan struct {
	Summary  string        `json:"summary"`           // "5 functions: 3 may run, 2 refused"
	Counts   PlanCounts    `json:"functions"`         // the same in numbers
	Kind     string        `json:"kind"`              // of the target
	Refused  []string      `json:"refused,omitempty"` // what of the target itself may not be used, and which flag permits it
	Catalogs []PlanCatalog `json:"catalogs,omitempty"`
	Steps    []PlanStep    `json:"steps,omitempty"`
	Notes    []string      `json:"notes,omitempty"`
}

// PlanCounts says how many functions there are.
type PlanCounts struct {
	All     int `json:"all"`
	MayRun  int `json:"mayRun"`
	Refused int `json:"refused"` // or not found
	// InTarget is how much of the target itself is refused beside them, such as helm: nobody
	// looked which functions it asks for.
	InTarget int `json:"inTarget,omitempty"`
}

// String is the counts for people.
func (c PlanCounts) String() string {
	noun := "functions"
	if c.All == 1 {
		noun = "function"
	}
	text := fmt.Sprintf("%d %s: %d may run, %d refused", c.All, noun, c.MayRun, c.Refused)
	if c.InTarget > 0 {
		text += fmt.Sprintf("; %d refused in the target itself", c.InTarget)
	}
	return text
}

// PlanCatalog is a catalog that was read.
type PlanCatalog struct {
	Ref      string            `json:"ref"` // with its digest
	Evidence []verify.Evidence `json:"evidence"`
	Signed
}

// Signed is what there is of signatures, whether anybody asked for them or not.
type Signed struct {
	// Signatures are all that were found. Those that nobody asked for are not verified, and
	// say what they claim.
	Signatures []verify.Signature `json:"signatures,omitempty"`
	Unsigned   bool               `json:"unsigned"`       // that there is none was looked up
	Note       string             `json:"note,omitempty"` // why that is not known
}

// PlanStep is one function.
type PlanStep struct {
	Where    string        `json:"where"`
	Role     pipeline.Role `json:"role"`
	Function string        `json:"function"` // group/version/kind
	Name     string        `json:"name"`
	// Overridden lists where overrides of its config stand (KEP-2299).
	Overridden []string            `json:"overridden,omitempty"`
	Runtime    string              `json:"runtime"` // empty where it was not found, as By and Ref
	By         string              `json:"by"`      // who names the runtime
	Ref        string              `json:"ref"`     // with its digest, where it has one
	Digest     string              `json:"digest,omitempty"`
	Args       []string            `json:"args,omitempty"` // the command and arguments that its spec gives
	Evidence   []verify.Evidence   `json:"evidence"`
	Grant      sandbox.Description `json:"grant"`
	Warnings   []string            `json:"warnings,omitempty"`
	Refused    []string            `json:"refused,omitempty"` // why it may not run, or was not found
	Signed
}

// newPlan writes down what was decided, and looks up the signatures that no policy asked
// for.
func (r *Renderer) newPlan(ctx context.Context, t pipeline.Target, ts []trusted, refused []error) *Plan {
	p := &Plan{Kind: t.Kind(), Notes: t.Notes(), Counts: PlanCounts{All: len(ts), InTarget: len(refused)}}
	for _, no := range refused {
		p.Refused = append(p.Refused, no.Error())
	}
	var artifacts []registry.Artifact // of the catalogs, then of the Steps
	for _, s := range ts {
		for _, src := range []*source{s.source, s.schema} {
			if p.addCatalog(src) {
				artifacts = append(artifacts, src.artifact)
			}
		}
	}
	for _, s := range ts {
		if s.isRefused() {
			p.Counts.Refused++
			artifacts = append(artifacts, registry.Artifact{}) // nobody is asked for signatures that change nothing
		} else {
			p.Counts.MayRun++
			artifacts = append(artifacts, s.artifact)
		}
		p.Steps = append(p.Steps, PlanStep{
			Where: s.step.Where, Role: cmp.Or(s.step.In, s.step.Role), Function: s.step.ID.String(), Name: s.step.Name,
			Overridden: s.step.Overridden(),
			Runtime:    s.kind, By: s.by, Ref: s.reference(), Digest: s.artifact.Root.Digest.String(), Args: s.prepared.Needs.Args,
			Evidence: s.evidence(), Grant: s.grant.Describe(), Warnings: s.warnings, Refused: s.reasons(), Signed: s.rejected(),
		})
	}
	p.Summary = p.Counts.String()
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, a := range artifacts {
		at, evidence := p.signed(i)
		if len(at.Signatures) > 0 || a.From.Scheme == "" || i < len(p.Catalogs) && len(evidence) == 0 { // those that do not do; it is refused, or was not looked at
			continue
		}
		g.Go(func() error {
			*at = r.signed(ctx, a, evidence)
			return nil
		})
	}
	_ = g.Wait()
	return p
}

// evidence is why a function is trusted. A flag that is not given is none.
func (t trusted) evidence() []verify.Evidence {
	all := t.allEvidence()
	if !t.isRefused() {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(e verify.Evidence) bool { return !e.Vouches && !e.Audit })
}

// reasons are why a function may not run.
func (t trusted) reasons() []string {
	var out []string
	for _, err := range append([]error{t.unbound}, t.refused...) {
		if err == nil {
			continue
		}
		var step *StepError
		if errors.As(err, &step) {
			err = step.Err
		}
		out = append(out, err.Error())
	}
	return out
}

// rejected are the signatures that were looked at and do not do.
func (t trusted) rejected() Signed {
	var out Signed
	looked := false
	for _, err := range t.refused {
		var no *verify.UntrustedError
		if errors.As(err, &no) {
			looked = looked || no.Signatures != nil
			out.Signatures = append(out.Signatures, no.Signatures...)
		}
	}
	out.Unsigned = looked && len(out.Signatures) == 0
	return out
}

// signed is where the signatures of an artifact go, in the order of newPlan.
func (p *Plan) signed(i int) (*Signed, []verify.Evidence) {
	if i < len(p.Catalogs) {
		return &p.Catalogs[i].Signed, p.Catalogs[i].Evidence
	}
	s := &p.Steps[i-len(p.Catalogs)]
	return &s.Signed, s.Evidence
}

// signed gives the signatures that were looked at, else those that there are.
func (r *Renderer) signed(ctx context.Context, a registry.Artifact, evidence []verify.Evidence) Signed {
	var out Signed
	for _, e := range evidence {
		out.Signatures = append(out.Signatures, e.Signatures...)
	}
	if len(out.Signatures) > 0 || a.Plain() {
		return out
	}
	claims, err := verify.Claims(ctx, a, r.Methods)
	if err != nil {
		out.Note = "its signatures could not be looked at: " + err.Error()
		return out
	}
	out.Signatures, out.Unsigned = claims, len(claims) == 0
	return out
}

// addCatalog tells whether the catalog is one more.
func (p *Plan) addCatalog(s *source) bool {
	if s == nil {
		return false
	}
	ref := s.pinned()
	if slices.ContainsFunc(p.Catalogs, func(c PlanCatalog) bool { return c.Ref == ref }) {
		return false
	}
	p.Catalogs = append(p.Catalogs, PlanCatalog{Ref: ref, Evidence: s.evidence})
	return true
}
