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

// Plan describes a render: every function with its reference, why it may run and what it may
// access.
type Plan struct {
	Summary  string        `json:"summary"`           // for example "5 functions: 3 may run, 2 refused"
	Counts   PlanCounts    `json:"functions"`         // the same in numbers
	Kind     string        `json:"kind"`              // of the target
	Refused  []string      `json:"refused,omitempty"` // refused parts of the target itself, with the flag that permits each
	Catalogs []PlanCatalog `json:"catalogs,omitempty"`
	Steps    []PlanStep    `json:"steps,omitempty"`
	Notes    []string      `json:"notes,omitempty"`
}

// PlanCounts are the numbers of functions.
type PlanCounts struct {
	All     int `json:"all"`
	MayRun  int `json:"mayRun"`
	Refused int `json:"refused"` // or not found
	// InTarget is the number of refused parts of the target itself, such as helm. Functions in
	// them are not counted.
	InTarget int `json:"inTarget,omitempty"`
}

// String returns the counts as text.
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

// Signed are the signatures of an artifact, whether a policy requires them or not.
type Signed struct {
	// Signatures are all signatures found. Those that no policy requires are not verified and
	// have only claims.
	Signatures []verify.Signature `json:"signatures,omitempty"`
	Unsigned   bool               `json:"unsigned"`       // there is no signature
	Note       string             `json:"note,omitempty"` // why the signatures are unknown
}

// PlanStep is one function.
type PlanStep struct {
	Where    string        `json:"where"`
	Role     pipeline.Role `json:"role"`
	Function string        `json:"function"`        // group/version/kind, as the catalog has it
	Entry    string        `json:"entry,omitempty"` // its name in the catalog, if it is named or written
	// Config is the type of the functionConfig, if it is not Function.
	Config string `json:"functionConfig,omitempty"`
	// Replaces is the image that the function of the catalog runs in place of, "" for none.
	Replaces string `json:"replaces,omitempty"`
	Name     string `json:"name"` // of the functionConfig
	// Overridden are the positions of overrides of its config (KEP-2299).
	Overridden []string            `json:"overridden,omitempty"`
	Runtime    string              `json:"runtime"` // "" if it was not found, as By and Ref
	By         string              `json:"by"`      // what names the runtime
	Ref        string              `json:"ref"`     // with its digest, if it has one
	Digest     string              `json:"digest,omitempty"`
	Args       []string            `json:"args,omitempty"` // the command and arguments that its spec gives
	Evidence   []verify.Evidence   `json:"evidence"`
	Grant      sandbox.Description `json:"grant"`
	Warnings   []string            `json:"warnings,omitempty"`
	Refused    []string            `json:"refused,omitempty"` // why it may not run, or was not found
	Signed
}

// newPlan converts the decisions to a Plan, and reads the signatures that no policy requires.
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
			artifacts = append(artifacts, registry.Artifact{}) // signatures of a refused function are not fetched
		} else {
			p.Counts.MayRun++
			artifacts = append(artifacts, s.artifact)
		}
		p.Steps = append(p.Steps, PlanStep{
			Where: s.step.Where, Role: cmp.Or(s.step.In, s.step.Role), Function: s.id().String(), Entry: s.entry(),
			Config: s.configType(), Replaces: s.replaced, Name: s.step.Name, Overridden: s.step.Overridden(),
			Runtime: s.kind, By: s.by, Ref: s.reference(), Digest: s.artifact.Root.Digest.String(), Args: s.prepared.Needs.Args,
			Evidence: s.evidence(), Grant: s.grant.Describe(), Warnings: s.warnings, Refused: s.reasons(), Signed: s.rejected(),
		})
	}
	p.Summary = p.Counts.String()
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, a := range artifacts {
		at, evidence := p.signed(i)
		if len(at.Signatures) > 0 || a.From.Scheme == "" || i < len(p.Catalogs) && len(evidence) == 0 { // rejected signatures are there; or it is refused, or was not read
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

// entry returns the name of the function in its catalog, "" if neither the catalog writes one nor
// the Step names it.
func (b *bound) entry() string {
	if b.source != nil && b.step.Named != nil {
		return b.function.Called()
	}
	return b.function.Name
}

// configType returns the type of the functionConfig, "" if it is that of the function.
func (b *bound) configType() string {
	if b.id() == b.step.ID {
		return ""
	}
	return b.step.ID.String()
}

// evidence returns why a function is trusted. For a refused one, only digests, signatures and
// audits.
func (t trusted) evidence() []verify.Evidence {
	all := t.allEvidence()
	if !t.isRefused() {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(e verify.Evidence) bool { return !e.Vouches && !e.Audit })
}

// reasons returns why a function may not run.
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

// rejected returns the signatures that were verified and do not satisfy a policy.
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

// signed returns where to store the signatures of the i-th artifact of newPlan, and its evidence.
func (p *Plan) signed(i int) (*Signed, []verify.Evidence) {
	if i < len(p.Catalogs) {
		return &p.Catalogs[i].Signed, p.Catalogs[i].Evidence
	}
	s := &p.Steps[i-len(p.Catalogs)]
	return &s.Signed, s.Evidence
}

// signed returns the signatures that were verified, or else those that exist.
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
		out.Note = "its signatures could not be read: " + err.Error()
		return out
	}
	out.Signatures, out.Unsigned = claims, len(claims) == 0
	return out
}

// addCatalog adds a catalog, and reports whether it is a new one.
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
