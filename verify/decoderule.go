package verify

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/registry/reference"
)

func (p *policyReader) rule(s yamldoc.Value) Rule {
	s.Exactly("match", "functions", "reach", "catalogs", "runtimes", "deny")
	r := Rule{
		Where: p.where(s), Match: p.patterns(s.Get("match")), Functions: functions(s.Get("functions")), Reach: reach(s.Get("reach")),
		Deny: strings.TrimSpace(s.Get("deny").TextOnly()),
	}
	r.Catalogs = p.demand(s.Get("catalogs"))
	r.Runtimes = p.demand(s.Get("runtimes"))
	demands := r.Runtimes != nil || r.Catalogs != nil
	switch deny := s.Get("deny"); {
	case deny.Present() && r.Deny == "":
		deny.Fail("it has to give a reason, which the refusal shows")
	case deny.Present() && demands:
		deny.Fail("a rule that denies has no catalogs and no runtimes")
	case !deny.Present() && !demands:
		s.Fail("it has none of catalogs, runtimes and deny")
	case r.Catalogs != nil && r.narrow():
		s.Get("catalogs").Fail("functions and reach apply to runtimes only")
	}
	if r.Catalogs != nil && r.Catalogs.OwnSignature {
		s.Get("catalogs").Get("ownSignature").Fail("it is for runtimes: no catalog pins a catalog")
	}
	return r
}

// oneOrMore reads one entry or a list of entries.
func oneOrMore(s yamldoc.Value) []yamldoc.Value {
	if s.IsList() {
		return s.Each()
	}
	return []yamldoc.Value{s}
}

// functions reads patterns of functions, nil for none.
func functions(s yamldoc.Value) []FunctionPattern {
	if !s.Present() {
		return nil
	}
	entries := oneOrMore(s)
	if len(entries) == 0 || len(entries) > maxPatterns {
		s.Fail("it has to name 1 to %d functions", maxPatterns)
	}
	var out []FunctionPattern
	for _, e := range entries {
		f, ok := parseFunctionPattern(e.Text())
		if !ok {
			e.Fail("%q is not GROUP/KIND, such as apps.example.com/WebApp or apps.example.com/*", e.Text())
			return nil
		}
		out = append(out, f)
	}
	return out
}

// reach reads kinds of access, nil for none.
func reach(s yamldoc.Value) []Reach {
	if !s.Present() {
		return nil
	}
	entries := oneOrMore(s)
	if len(entries) == 0 {
		s.Fail("it has to name one of %s", strings.Join(reaches(), ", "))
	}
	var out []Reach
	for _, e := range entries {
		if t := e.Text(); !slices.Contains(reaches(), t) {
			e.Fail("it is one of %s, not %q", strings.Join(reaches(), ", "), t)
		}
		out = append(out, Reach(e.Text()))
	}
	return out
}

// patterns reads one pattern or a list of them.
func (p *policyReader) patterns(s yamldoc.Value) []reference.Pattern {
	entries := oneOrMore(s)
	if !s.Present() || len(entries) == 0 {
		s.Fail("it has to name places, such as oci://registry.example.com/functions/**")
		return nil
	}
	if len(entries) > maxPatterns {
		s.Fail("%w", failure.Untrusted.Mark(fmt.Errorf("it has %d patterns, at most %d are read", len(entries), maxPatterns)))
		return nil
	}
	var out []reference.Pattern
	for _, e := range entries {
		pattern, err := reference.ParsePattern(e.Text())
		if err != nil {
			e.Fail("%v", err)
			return nil
		}
		out = append(out, pattern)
	}
	return out
}

// demand reads requirements, nil for none.
func (p *policyReader) demand(s yamldoc.Value) *Demand {
	if !s.Present() {
		return nil
	}
	known := []string{"digests", "nothing", "ownSignature"}
	for _, m := range p.Methods {
		known = append(known, m.Name())
	}
	s.Exactly(known...)
	d := &Demand{Digests: s.Get("digests").Bool(), OwnSignature: s.Get("ownSignature").Bool()}
	exemption(d, s.Get("nothing"))
	for _, m := range p.Methods {
		if section := s.Get(m.Name()); section.Present() {
			d.Signatures = append(d.Signatures, p.signed(m, section)...)
		}
	}
	if p.err != nil {
		return d
	}
	something := d.Digests || len(d.Signatures) > 0
	switch {
	case s.Get("nothing").Present() && d.Nothing == "":
		s.Get("nothing").Fail("it has to give a reason, for readers of the policy")
	case d.Nothing != "" && (something || d.OwnSignature):
		s.Get("nothing").Fail("it cannot be combined with requirements")
	case d.Nothing == "" && !something:
		s.Fail("it requires nothing: state why with nothing: REASON")
	case d.OwnSignature && len(d.Signatures) == 0:
		s.Get("ownSignature").Fail("it needs a section that says whose signature")
	}
	return d
}

// signed reads the section of a method, or a list of sections: groups, each of which must sign.
func (p *policyReader) signed(m Method, s yamldoc.Value) []*Signed {
	entries := oneOrMore(s)
	if len(entries) == 0 || len(entries) > maxGroups {
		s.Fail("it has to have 1 to %d groups of signers", maxGroups)
		return nil
	}
	var out []*Signed
	for _, e := range entries {
		if !e.Present() {
			e.Fail("it has no value")
			return nil
		}
		j, err := m.Judge(yaml.NewRNode(e.Node()), p.Read)
		if err != nil {
			p.keep(err)
			return nil
		}
		out = append(out, &Signed{Method: m.Name(), Judge: j, Where: p.where(e)})
	}
	return out
}

// exemption reads the reason of an exemption, and when it expires: text, or a mapping with both.
func exemption(d *Demand, s yamldoc.Value) {
	if !s.IsMapping() {
		d.Nothing = strings.TrimSpace(s.TextOnly())
		return
	}
	s.Exactly("reason", "until")
	d.Nothing = strings.TrimSpace(s.Get("reason").TextOnly())
	if end := s.Get("until"); end.Present() {
		var whole bool
		if d.Until, whole = end.Time(); whole {
			d.UntilOf, d.Until = d.Until, d.Until.Add(day) // the given day is the last one
		}
	}
}
