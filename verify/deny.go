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

// denyChecker checks the rules with deny.
type denyChecker struct {
	policy  *TrustPolicy
	request Request
}

func (t *TrustPolicy) denies() bool {
	return slices.ContainsFunc(t.Rules, func(r Rule) bool { return r.Deny != "" })
}

// Check implements Checker. A denied digest is compared with the resolved digest, the promised one
// and that of each file. If it is an index, its manifests are denied too.
func (c denyChecker) Check(ctx context.Context, s Subject) (Evidence, error) {
	if no := c.foresee(s); no != nil {
		return Evidence{}, no
	}
	for _, d := range c.policy.pinned(c.request) {
		below, err := c.policy.indexes.below(ctx, s.Artifact, d.digest)
		if err != nil {
			return Evidence{}, fmt.Errorf("%s denies %s, and its manifests are not known: %w", d.rule.Where, d.digest, err)
		}
		if slices.Contains(below, s.Artifact.Root.Digest) || slices.Contains(below, s.Artifact.Manifest.Digest) {
			return Evidence{}, refuse(s, d.rule.denies()+fmt.Sprintf(" (it is listed by %s)", d.digest))
		}
	}
	return Evidence{Method: methodPassed}, nil
}

// denied is a denied digest.
type denied struct {
	rule   Rule
	digest digest.Digest
}

// pinned returns the digests that are denied at the place of the request.
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

// indexes caches the manifests of indexes.
type indexes struct {
	calls shared.Calls[string, []digest.Digest]
}

// below returns the manifests of an index. It is requested once.
func (i *indexes) below(ctx context.Context, a registry.Artifact, d digest.Digest) ([]digest.Digest, error) {
	return i.calls.Do(ctx, placeKey(a, d), func() ([]digest.Digest, error) { return a.Below(ctx, d) })
}

// foresee implements foreseer. Most denials are by place, and others by known digests, except for
// manifests of a denied index.
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

// ByDigest reports whether a rule denies a digest at the place of the request, so that the decision
// depends on the content.
func (p Policy) ByDigest(r Request) bool {
	return slices.ContainsFunc(p.Documents, func(t *TrustPolicy) bool { return len(t.pinned(r)) > 0 })
}

// denies returns the reason of a refusal.
func (r Rule) denies() string { return r.Where + " denies it: " + r.Deny }

// ForeseeFunction refuses a function that is denied at every place, so that no catalog has to be
// requested. name is its name in the error, which is an *UntrustedError; nil means that it is not.
func (p Policy) ForeseeFunction(f Function, name string) error {
	r := Request{Use: UseProgram, Functions: []Function{f}}
	for _, doc := range p.Documents {
		for _, rule := range doc.Rules {
			if !doc.Audit && rule.Deny != "" && rule.fits(r) && slices.ContainsFunc(rule.Match, reference.Pattern.All) {
				return &UntrustedError{Ref: name, Reasons: Because(rule.denies())}
			}
		}
	}
	return nil
}

// methodPassed is the method of evidence that Verify omits: the absence of a denial is not a reason
// to trust.
const methodPassed = "passed"

// denial returns the first rule that denies the request, in any of its spellings or with any of the
// digests, and reports whether there is one.
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
