package verify

import (
	"context"
	"errors"
	"strings"
)

// methodAudit is the method of evidence of a policy in audit mode.
const methodAudit = "audit"

// enforced returns the checker for the mode of the policy: in audit mode it refuses nothing.
func (t *TrustPolicy) enforced(c Checker) Checker {
	if t.Audit {
		return auditor{c, t}
	}
	return c
}

// auditor converts refusals of a policy to evidence.
type auditor struct {
	checker Checker
	policy  *TrustPolicy
}

// Check implements Checker.
func (a auditor) Check(ctx context.Context, s Subject) (Evidence, error) {
	e, err := a.checker.Check(ctx, s)
	if err == nil || ctx.Err() != nil {
		return e, err
	}
	var no *UntrustedError
	if !errors.As(err, &no) {
		return Evidence{Method: methodAudit, Detail: a.policy.Name + " could not be checked:  " + err.Error(), Audit: true}, nil
	}
	return Evidence{
		Method: methodAudit, Detail: a.policy.Name + " would refuse it: " + strings.Join(Texts(no.Reasons), "; "),
		Audit: true, Signatures: no.Signatures,
	}, nil
}

// audits returns the evidence of policies in audit mode.
func audits(list []Evidence) []Evidence {
	var out []Evidence
	for _, e := range list {
		if e.Audit {
			out = append(out, e)
		}
	}
	return out
}
