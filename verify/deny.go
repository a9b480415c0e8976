package verify

import (
	"context"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/registry"
)

// denyChecker asks the rules that refuse, whatever else a policy says.
type denyChecker struct {
	policy  *TrustPolicy
	request Request
}

func (t *TrustPolicy) denies() bool {
	return slices.ContainsFunc(t.Rules, func(r Rule) bool { return r.Deny != "" })
}

// Check implements Checker. Where a rule names a digest, it is held against what the
// reference came to, whatever was written, and against what was promised.
func (c denyChecker) Check(_ context.Context, s Subject) (Evidence, error) {
	if no := c.refusal(s, s.Artifact.Root.Digest, s.Artifact.Manifest.Digest, s.Promised); no != nil {
		return Evidence{}, no
	}
	return Evidence{Method: methodPassed}, nil
}

// foresee implements foreseer: most of what is denied is denied by its place.
func (c denyChecker) foresee(s Subject) *UntrustedError { return c.refusal(s, s.Promised) }

func (c denyChecker) refusal(s Subject, digests ...digest.Digest) *UntrustedError {
	rule, found := c.policy.denial(c.request, digests...)
	if !found {
		return nil
	}
	return refuse(s, rule.denies())
}

// ByDigest reports whether a rule denies a digest at the place that is asked about, so that the
// answer depends on what is there.
func (p Policy) ByDigest(r Request) bool {
	pinned := func(p registry.Pattern) bool {
		return p.Pinned() && slices.ContainsFunc(append([]registry.Locator{r.Ref}, r.Also...), func(l registry.Locator) bool {
			l = l.WithDigest(p.Sample().Digest)
			return p.Match(l) || p.Might(l)
		})
	}
	return slices.ContainsFunc(p.Documents, func(t *TrustPolicy) bool {
		return slices.ContainsFunc(t.Rules, func(rule Rule) bool {
			return rule.Deny != "" && rule.fits(r) && slices.ContainsFunc(rule.Match, pinned)
		})
	})
}

// denies is why a rule refuses, for people.
func (r Rule) denies() string { return r.Where + " denies it: " + r.Deny }

// ForeseeFunction tells that a function is denied wherever it is and whatever it asks for, so
// that no catalog has to be asked for it. name is what it is called. The error is an
// *UntrustedError; nil says nothing.
func (p Policy) ForeseeFunction(f Function, name string) error {
	r := Request{Use: UseProgram, Functions: []Function{f}}
	for _, doc := range p.Documents {
		for _, rule := range doc.Rules {
			if !doc.Audit && rule.Deny != "" && rule.fits(r) && slices.ContainsFunc(rule.Match, registry.Pattern.All) {
				return &UntrustedError{Ref: name, Reasons: []string{rule.denies()}}
			}
		}
	}
	return nil
}

// methodPassed is the method of evidence that Verify leaves out: that nothing is denied is no
// reason to trust.
const methodPassed = "passed"

// denial is the first rule that refuses what is asked about, in any of its spellings or under
// any of the digests.
func (t *TrustPolicy) denial(r Request, digests ...digest.Digest) (Rule, bool) {
	var places []registry.Locator
	for _, ref := range append([]registry.Locator{r.Ref}, r.Also...) {
		places = append(append(places, ref), ref.Spellings()...)
		for _, d := range digests {
			if d != "" {
				places = append(places, ref.WithDigest(d))
			}
		}
	}
	for _, rule := range t.Rules {
		if rule.Deny == "" || !rule.fits(r) {
			continue
		}
		for _, p := range rule.Match {
			if slices.ContainsFunc(places, func(l registry.Locator) bool { return p.Match(l) || p.Might(l) }) {
				return rule, true
			}
		}
	}
	return Rule{}, false
}
