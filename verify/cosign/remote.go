package cosign

import (
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify"
)

// Build returns a Judge for a demand. Errors are *DemandError, or that the judge did not respond.
func (m *Method) Build(d Demand) (verify.Judge, error) {
	a, err := m.ask(context.Background(), Request{Op: OpBuild, Demand: &d}, nil)
	if err != nil {
		return nil, err
	}
	if a.Judge == nil {
		return nil, failure.Untrusted.Mark(errNoAnswer)
	}
	return &remote{method: m, demand: &d, about: *a.Judge}, nil
}

// remote implements verify.Judge. Without a demand it trusts nobody.
type remote struct {
	method *Method
	demand *Demand
	about  Description
}

// Query implements verify.Judge.
func (*remote) Query(subject digest.Digest) registry.Query {
	return registry.Query{
		Tags:          []string{LegacyTag(subject)},
		ArtifactTypes: []string{BundleType},
		Annotations:   map[string]string{PredicateAnnotation: PredicateType},
	}
}

// String implements verify.Judge.
func (r *remote) String() string {
	if r.demand == nil {
		return "a signature, but no trusted signer is given"
	}
	return r.about.Text
}

// Listed implements verify.Listing. The owners of certificates are unknown.
func (r *remote) Listed() (who []string, needed int, all bool) {
	if r.demand == nil {
		return nil, 0, true
	}
	return r.about.Listed, r.about.Needed, r.about.All
}

// Notes implements verify.Noting.
func (r *remote) Notes() []string { return r.about.Notes }

// Judge implements verify.Judge.
func (r *remote) Judge(ctx context.Context, subject digest.Digest, found []registry.Attachment) (verify.Verdict, error) {
	a, err := r.method.ask(ctx, Request{Op: OpJudge, Demand: r.demand, Subject: subject, Found: found}, nil)
	if err != nil {
		return verify.Verdict{}, err
	}
	if err := r.plausible(subject, a.Verdict); err != nil {
		return verify.Verdict{}, failure.Untrusted.Mark(fmt.Errorf("judging signatures of %q: %w: %w", subject, errNoAnswer, err))
	}
	return verify.Verdict{Signatures: a.Verdict.Signatures, Reasons: a.Verdict.Reasons, Needed: a.Verdict.Needed}, nil
}

// plausible refuses a verdict about another subject, and one that is satisfied without the required
// signatures.
func (r *remote) plausible(subject digest.Digest, v *Verdict) error {
	if v == nil || v.Subject != subject || v.Satisfied != (len(v.Reasons) == 0) {
		return errors.New("it is not a verdict about the requested subject")
	}
	if !v.Satisfied {
		return nil
	}
	signers := map[string]bool{}
	for _, s := range v.Signatures {
		if s.Verified {
			signers[s.Signatory()] = true
		}
	}
	if r.demand == nil || len(signers) < max(r.demand.Threshold, 1) || v.Needed != max(r.demand.Threshold, 1) {
		return errors.New("it is satisfied with fewer signers than were asked for")
	}
	return nil
}
