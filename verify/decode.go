package verify

import (
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/safeyaml"
	"github.com/krmcat/krmcat/internal/strict"
	"github.com/krmcat/krmcat/registry"
)

// The type of a policy document.
const (
	PolicyAPIVersion = "krmcat.dev/v1alpha1"
	PolicyKind       = "TrustPolicy"
)

// What a policy may hold. People write a few rules.
const (
	MaxPolicy   = 1 << 20 // bytes
	maxRules    = 1000
	maxPatterns = 100 // of one rule
)

// PolicyError is something wrong in a policy, at a place.
type PolicyError struct {
	File string
	Line int // 1-based; 0 where not known
	Msg  string
	Err  error // the cause, nil where Msg says it all
}

func (e *PolicyError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

// Unwrap returns the cause.
func (e *PolicyError) Unwrap() error { return e.Err }

// Decoder reads policies.
type Decoder struct {
	Methods []Method // whose sections rules may have
	Read    ReadFile // reads the files that a policy names
}

// Decode reads one policy document, strictly. file is what errors and evidence call it.
// Errors are *PolicyError.
func (d Decoder) Decode(file string, data []byte) (*TrustPolicy, error) {
	if len(data) > MaxPolicy {
		return nil, &PolicyError{File: file, Msg: fmt.Sprintf("it has more than the %d bytes that are read", MaxPolicy)}
	}
	doc, err := safeyaml.One(data)
	var problem safeyaml.Problem
	switch {
	case errors.As(err, &problem):
		return nil, &PolicyError{File: file, Line: problem.Line, Msg: problem.Msg}
	case err != nil:
		return nil, &PolicyError{File: file, Msg: err.Error()}
	case doc == nil:
		return nil, &PolicyError{File: file, Msg: "it is empty"}
	}
	p := &policyReader{Decoder: d, file: file}
	t := p.document(strict.NewSpec(yaml.NewRNode(doc), ""))
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

func (p *policyReader) document(s strict.Spec) *TrustPolicy {
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
	spec.Exactly("rules")
	rules := spec.Get("rules").Each()
	switch {
	case len(rules) == 0:
		spec.Fail("it has no rules: one that demands nothing says so, with its reason")
	case len(rules) > maxRules:
		spec.Fail("it has %d rules, at most %d are read", len(rules), maxRules)
	}
	for _, r := range rules {
		if s.Err() != nil || p.err != nil {
			break
		}
		t.Rules = append(t.Rules, p.rule(r))
	}
	return t
}

// keep remembers an error, with its line.
func (p *policyReader) keep(err error) {
	if err == nil || p.err != nil {
		return
	}
	var e *strict.Error
	if errors.As(err, &e) {
		p.err = &PolicyError{File: p.file, Line: e.Line, Msg: strings.TrimPrefix(e.Field, ".") + ": " + e.Msg, Err: err}
		return
	}
	p.err = &PolicyError{File: p.file, Msg: err.Error(), Err: err}
}

func (p *policyReader) rule(s strict.Spec) Rule {
	s.Exactly("match", "catalogs", "runtimes")
	r := Rule{Where: p.where(s), Match: p.patterns(s.Get("match"))}
	r.Catalogs = p.demand(s.Get("catalogs"))
	r.Runtimes = p.demand(s.Get("runtimes"))
	if r.Runtimes == nil && r.Catalogs == nil {
		s.Fail("it says what is demanded neither of catalogs nor of runtimes")
	}
	if r.Catalogs != nil && r.Catalogs.OwnSignature {
		s.Get("catalogs").Get("ownSignature").Fail("it is for runtimes: no catalog pins a catalog")
	}
	return r
}

func (p *policyReader) where(s strict.Spec) string {
	return fmt.Sprintf("%s:%d", p.file, max(s.Line(), 1))
}

// patterns reads one pattern or a list of them.
func (p *policyReader) patterns(s strict.Spec) []registry.Pattern {
	entries := []strict.Spec{s}
	if !s.IsText() {
		entries = s.Each()
	}
	if !s.Present() || len(entries) == 0 {
		s.Fail("it has to name places, such as oci://registry.example.com/functions/**")
		return nil
	}
	if len(entries) > maxPatterns {
		s.Fail("it has %d patterns, at most %d are read", len(entries), maxPatterns)
		return nil
	}
	var out []registry.Pattern
	for _, e := range entries {
		pattern, err := registry.ParsePattern(e.Text())
		if err != nil {
			e.Fail("%v", err)
			return nil
		}
		out = append(out, pattern)
	}
	return out
}

// demand reads what is asked for, nil where nothing is written.
func (p *policyReader) demand(s strict.Spec) *Demand {
	if !s.Present() {
		return nil
	}
	known := []string{"digests", "nothing", "ownSignature"}
	for _, m := range p.Methods {
		known = append(known, m.Name())
	}
	s.Exactly(known...)
	d := &Demand{
		Digests:      s.Get("digests").Bool(),
		OwnSignature: s.Get("ownSignature").Bool(),
		Nothing:      strings.TrimSpace(s.Get("nothing").Words()),
	}
	for _, m := range p.Methods {
		section := s.Get(m.Name())
		if !section.Present() {
			continue
		}
		j, err := m.Judge(yaml.NewRNode(section.Node()), p.Read)
		if err != nil {
			p.keep(err)
			return d
		}
		d.Signatures = append(d.Signatures, &Signed{Method: m.Name(), Judge: j})
	}
	something := d.Digests || len(d.Signatures) > 0
	switch {
	case s.Get("nothing").Present() && d.Nothing == "":
		s.Get("nothing").Fail("it has to say why, for those who read the policy")
	case d.Nothing != "" && (something || d.OwnSignature):
		s.Get("nothing").Fail("it stands beside something that is demanded")
	case d.Nothing == "" && !something:
		s.Fail("it demands nothing: say so, and why, with nothing: REASON")
	case d.OwnSignature && len(d.Signatures) == 0:
		s.Get("ownSignature").Fail("it says nothing of whose signature it is")
	}
	return d
}
