package verify

import (
	"context"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/shared"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
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
// reference came to, whatever was written, against what was promised and against each file. An
// index that is denied is denied by its manifests too.
func (c denyChecker) Check(ctx context.Context, s Subject) (Evidence, error) {
	if no := c.foresee(s); no != nil {
		return Evidence{}, no
	}
	for _, d := range c.policy.pinned(c.request) {
		below, err := c.policy.indexes.below(ctx, s.Artifact, d.digest)
		if err != nil {
			return Evidence{}, fmt.Errorf("%s denies %s, and what that lists is not known: %w", d.rule.Where, d.digest, err)
		}
		if slices.Contains(below, s.Artifact.Root.Digest) || slices.Contains(below, s.Artifact.Manifest.Digest) {
			return Evidence{}, refuse(s, d.rule.denies()+fmt.Sprintf(" (it is listed by %s)", d.digest))
		}
	}
	return Evidence{Method: methodPassed}, nil
}

// denied is a digest that a rule denies.
type denied struct {
	rule   Rule
	digest digest.Digest
}

// pinned gives the digests that are denied at the place that is asked about.
func (t *TrustPolicy) pinned(r Request) []denied {
	var out []denied
	places := within(r)
	for _, rule := range t.Rules {
		if rule.Deny == "" || !rule.fits(r) {
			continue
		}
		for _, p := range rule.Match {
			d := p.Digest()
			if d != "" && slices.ContainsFunc(places, func(l reference.Locator) bool { return covers(p, l.WithDigest(d).Spellings()) }) {
				out = append(out, denied{rule, d})
			}
		}
	}
	return out
}

// indexes are those that were looked into.
type indexes struct {
	calls shared.Calls[string, []digest.Digest]
}

// below gives what an index lists where an artifact is. It is asked for once.
func (i *indexes) below(ctx context.Context, a registry.Artifact, d digest.Digest) ([]digest.Digest, error) {
	return i.calls.Do(ctx, placeKey(a, d), func() ([]digest.Digest, error) { return a.Below(ctx, d) })
}

// foresee implements foreseer: most of what is denied is denied by its place, and all else but the
// manifests of an index by the digests that are known.
func (c denyChecker) foresee(s Subject) *UntrustedError {
	digests := []digest.Digest{s.Artifact.Root.Digest, s.Artifact.Manifest.Digest, s.Promised}
	for _, f := range s.Artifact.Files {
		digests = append(digests, f.Digest)
	}
	rule, found := c.policy.denial(c.request, digests...)
	if !found {
		return nil
	}
	return refuse(s, rule.denies())
}

// ByDigest reports whether a rule denies a digest at the place that is asked about, so that the
// answer depends on what is there.
func (p Policy) ByDigest(r Request) bool {
	return slices.ContainsFunc(p.Documents, func(t *TrustPolicy) bool { return len(t.pinned(r)) > 0 })
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
			if !doc.Audit && rule.Deny != "" && rule.fits(r) && slices.ContainsFunc(rule.Match, reference.Pattern.All) {
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
	var places []reference.Locator
	for _, ref := range within(r, digests...) {
		places = append(append(places, ref), ref.Spellings()...)
		for _, d := range digests {
			if d != "" {
				places = append(places, ref.WithDigest(d).Spellings()...)
			}
		}
	}
	for _, rule := range t.Rules {
		if rule.Deny != "" && rule.fits(r) && slices.ContainsFunc(rule.Match, func(p reference.Pattern) bool { return covers(p, places) }) {
			return rule, true
		}
	}
	return Rule{}, false
}
