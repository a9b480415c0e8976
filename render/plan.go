package render

import (
	"cmp"
	"slices"

	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/target"
	"github.com/krmcat/krmcat/verify"
)

// Plan is what a render would do: every function with what it is, why it may run and how
// far it may reach.
type Plan struct {
	Kind     string        `json:"kind"` // of the target
	Catalogs []PlanCatalog `json:"catalogs,omitempty"`
	Steps    []PlanStep    `json:"steps,omitempty"`
	Notes    []string      `json:"notes,omitempty"`
}

// PlanCatalog is a catalog that was read.
type PlanCatalog struct {
	Ref      string            `json:"ref"` // with its digest
	Evidence []verify.Evidence `json:"evidence"`
}

// PlanStep is one function.
type PlanStep struct {
	Where    string      `json:"where"`
	Role     target.Role `json:"role"`
	Function string      `json:"function"` // group/version/kind
	Name     string      `json:"name"`
	// Overridden lists where overrides of its config stand (KEP-2299).
	Overridden []string            `json:"overridden,omitempty"`
	Runtime    string              `json:"runtime"`
	By         string              `json:"by"`  // who names the runtime
	Ref        string              `json:"ref"` // with its digest, where it has one
	Digest     string              `json:"digest,omitempty"`
	Evidence   []verify.Evidence   `json:"evidence"`
	Grant      sandbox.Description `json:"grant"`
	Warnings   []string            `json:"warnings,omitempty"`
}

func newPlan(t target.Target, ts []trusted) *Plan {
	p := &Plan{Kind: t.Kind(), Notes: t.Notes()}
	for _, s := range ts {
		p.addCatalog(s.source)
		p.addCatalog(s.schema)
		p.Steps = append(p.Steps, PlanStep{
			Where: s.step.Where, Role: cmp.Or(s.step.In, s.step.Role), Function: s.step.ID.String(), Name: s.step.Name,
			Overridden: s.step.Overridden(),
			Runtime:    s.kind, By: s.by, Ref: s.reference(), Digest: s.artifact.Root.Digest.String(),
			Evidence: s.key.Evidence(), Grant: s.grant.Describe(), Warnings: s.warnings,
		})
	}
	return p
}

func (p *Plan) addCatalog(s *source) {
	if s == nil {
		return
	}
	ref := s.pinned()
	if slices.ContainsFunc(p.Catalogs, func(c PlanCatalog) bool { return c.Ref == ref }) {
		return
	}
	p.Catalogs = append(p.Catalogs, PlanCatalog{Ref: ref, Evidence: s.evidence})
}
