package verify

import (
	"context"

	"github.com/krmcat/krmcat/registry/reference"
)

// foreseer is a Checker that may be able to decide before the content is fetched.
type foreseer interface {
	// foresee returns the refusal of Check if it follows from the reference and the promised
	// digest alone, or nil.
	foresee(s Subject) *UntrustedError
}

// Foresee returns the refusal of Verify if it does not depend on the content, so that the content
// need not be requested. Of the Subject, it uses only the reference and the promised digest. The
// error is an *UntrustedError; nil means that the content is needed.
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

// final reports whether a refusal of the checker is independent of signatures.
func final(c Checker) bool {
	switch c.(type) {
	case denyChecker, Pinned:
		return true
	}
	return false
}

// unasked returns a checker that reads no signatures, for content that is refused anyway. It
// refuses what it can without them.
func unasked(c Checker) Checker {
	switch c := c.(type) {
	case ruleChecker:
		return foreseen{c}
	case auditor:
		return auditor{unasked(c.checker), c.policy}
	}
	return c
}

// foreseen checks a rule without signatures.
type foreseen struct{ rule ruleChecker }

// Check implements Checker.
func (f foreseen) Check(_ context.Context, s Subject) (Evidence, error) {
	if no := f.rule.foresee(s); no != nil {
		return Evidence{}, no
	}
	return Evidence{Method: methodPassed}, nil
}

// foresee implements foreseer. It does not refuse a reference without a digest that the user wrote,
// so that it is resolved and the refusal can show the digest.
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

// unsignable refuses content that must be signed at a place that cannot have signatures, or returns
// nil.
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
