package verify

import (
	"errors"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// The type of a policy document.
const (
	PolicyAPIVersion = "krmcat.dev/v1alpha1"
	PolicyKind       = "TrustPolicy"
)

// The limits of a policy.
const (
	MaxPolicy   = 1 << 20 // bytes
	maxRules    = 1000
	maxPatterns = 100 // of one rule
	maxFunction = 512 // characters of a pattern for functions
	maxGroups   = 8   // of signers, in one demand
)

// PolicyError is an error in a policy, with its position.
type PolicyError = yamldoc.Error

// Decoder reads policies.
type Decoder struct {
	Methods []Method // methods with a section in rules
	Read    ReadFile // reads the files that a policy names
}

// Decode reads one policy document, strictly. file is its name in errors and evidence. Errors are
// *PolicyError.
func (d Decoder) Decode(file string, data []byte) (*TrustPolicy, error) {
	if len(data) > MaxPolicy {
		return nil, &PolicyError{File: file, Msg: fmt.Sprintf("it is larger than the limit of %d bytes", MaxPolicy), Err: failure.Untrusted}
	}
	p := &policyReader{Decoder: d, file: file}
	doc, err := yamldoc.One(data)
	if p.keep(err); doc == nil {
		p.keep(errors.New("it is empty"))
		return nil, p.err
	}
	t := p.document(yamldoc.NewValue(yaml.NewRNode(doc), ""))
	if p.err != nil {
		return nil, p.err
	}
	return t, nil
}

// policyReader keeps the first error.
type policyReader struct {
	Decoder
	file string
	err  error
}

func (p *policyReader) document(s yamldoc.Value) *TrustPolicy {
	defer func() { p.keep(s.Err()) }()
	s.Exactly("apiVersion", "kind", "metadata", "spec")
	if v := s.Get("apiVersion"); v.Text() != PolicyAPIVersion {
		v.Fail("it has to be %s, not %q", PolicyAPIVersion, v.Text())
	}
	if k := s.Get("kind"); k.Text() != PolicyKind {
		k.Fail("it has to be %s, not %q", PolicyKind, k.Text())
	}
	meta := s.Get("metadata")
	meta.Exactly("name", "labels", "annotations")
	t := &TrustPolicy{Name: p.file}
	if name := meta.Get("name").Text(); name != "" {
		t.Name = fmt.Sprintf("%s (%s)", name, p.file)
	}
	spec := s.Get("spec")
	spec.Exactly("mode", "rules")
	switch mode := spec.Get("mode"); mode.Text() {
	case "", modeEnforce:
	case modeAudit:
		t.Audit = true
	default:
		mode.Fail("it is %s or %s, not %q", modeEnforce, modeAudit, mode.Text())
	}
	rules := spec.Get("rules").Each()
	switch {
	case len(rules) == 0:
		spec.Fail("it has no rules: to require nothing, write a rule that states why")
	case len(rules) > maxRules:
		spec.Fail("%w", failure.Untrusted.Mark(fmt.Errorf("it has %d rules, at most %d are read", len(rules), maxRules)))
	}
	for _, r := range rules {
		if s.Err() != nil || p.err != nil {
			break
		}
		t.Rules = append(t.Rules, p.rule(r))
	}
	return t
}

// The modes of a policy.
const (
	modeEnforce = "enforce"
	modeAudit   = "audit"
)

// Mode returns the mode of the policy: enforce or audit.
func (t *TrustPolicy) Mode() string {
	if t.Audit {
		return modeAudit
	}
	return modeEnforce
}

// keep keeps the first error, with its line.
func (p *policyReader) keep(err error) {
	if err == nil || p.err != nil {
		return
	}
	p.err = yamldoc.In(p.file, failure.Usage, err)
}

func (p *policyReader) where(s yamldoc.Value) string {
	return fmt.Sprintf("%s:%d", p.file, max(s.Line(), 1))
}
