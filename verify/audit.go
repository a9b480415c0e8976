package verify

import (
	"context"
	"errors"
	"strings"
)

// methodAudit is the method of evidence that is none: what a policy that is tried out would
// have said.
const methodAudit = "audit"

// enforced is a checker of a policy as it counts: one that is tried out refuses nothing.
func (t *TrustPolicy) enforced(c Checker) Checker {
	if t.Audit {
		return auditor{c, t}
	}
	return c
}

// auditor turns what a policy would refuse into evidence.
type auditor struct {
	checker Checker
	policy  *TrustPolicy
}

// Check implements Checker. That bytes are those which were promised is for Verify to see to,
// and no policy's.
func (a auditor) Check(ctx context.Context, s Subject) (Evidence, error) {
	e, err := a.checker.Check(ctx, s)
	if err == nil || ctx.Err() != nil {
		return e, err
	}
	var no *UntrustedError
	if !errors.As(err, &no) {
		return Evidence{Method: methodAudit, Detail: a.policy.Name + " could not be asked: " + err.Error(), Audit: true}, nil
	}
	return Evidence{
		Method: methodAudit, Detail: a.policy.Name + " would refuse it: " + strings.Join(no.Reasons, "; "),
		Audit: true, Signatures: no.Signatures,
	}, nil
}

// audits are those of a list of evidence that are none.
func audits(list []Evidence) []Evidence {
	var out []Evidence
	for _, e := range list {
		if e.Audit {
			out = append(out, e)
		}
	}
	return out
}
