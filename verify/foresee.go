package verify

import (
	"context"

	"github.com/krmcat/krmcat/registry/reference"
)

// foreseer is a Checker that may know its answer before the content is there.
type foreseer interface {
	// foresee refuses what Check would refuse whatever the content were, by the reference
	// and the promised digest alone. Nil says nothing.
	foresee(s Subject) *UntrustedError
}

// Foresee tells what Verify would refuse whatever content there is, so that nobody has to be
// asked for it: of the Subject only where it is and what was promised are looked at. The
// error is an *UntrustedError; nil says nothing.
func Foresee(s Subject, checkers ...Checker) error {
	var refused *UntrustedError
	for _, c := range checkers {
		f, ok := c.(foreseer)
		if !ok {
			continue
		}
		no := f.foresee(s)
		switch {
		case no == nil:
		case refused == nil:
			refused = no
		default:
			refused = refused.and(no)
		}
	}
	if refused == nil {
		return nil
	}
	return refused
}

// final tells a checker whose refusal needs no signatures: whatever they say, the content is refused.
func final(c Checker) bool {
	switch c.(type) {
	case denyChecker, Pinned:
		return true
	}
	return false
}

// unasked is a checker that asks nobody for signatures: of content that is refused anyway they are
// nobody's business. It refuses what it can without.
func unasked(c Checker) Checker {
	switch c := c.(type) {
	case ruleChecker:
		return foreseen{c}
	case auditor:
		return auditor{unasked(c.checker), c.policy}
	}
	return c
}

// foreseen is a rule, as far as it is known without signatures.
type foreseen struct{ rule ruleChecker }

// Check implements Checker.
func (f foreseen) Check(_ context.Context, s Subject) (Evidence, error) {
	if no := f.rule.foresee(s); no != nil {
		return Evidence{}, no
	}
	return Evidence{Method: methodPassed}, nil
}

// foresee implements foreseer. A reference that only misses its digest is looked up all the
// same, where that is for the user to write: the refusal says it.
func (p Pinned) foresee(s Subject) *UntrustedError {
	if s.Artifact.From.Scheme == reference.SchemeOCI && !p.ByCatalog {
		return nil
	}
	return p.refusal(s)
}

// foresee implements foreseer.
func (c ruleChecker) foresee(s Subject) *UntrustedError {
	if no := c.refusal(s); no != nil {
		return no
	}
	return c.unsignable(s)
}

// unsignable is the refusal of a place where nothing can be signed, nil where it takes more to
// tell.
func (c ruleChecker) unsignable(s Subject) *UntrustedError {
	asks := c.signed()
	_, held := c.chain(s)
	switch {
	case len(asks) == 0 || held && !c.demand.OwnSignature:
		return nil
	case s.Artifact.From.Scheme != reference.SchemeHTTPS && s.Artifact.From.Scheme != reference.SchemeFile:
		return nil
	}
	return c.asking(asks[0], refuse(s, noSignatures))
}
