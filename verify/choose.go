package verify

import (
	"slices"
	"time"

	"github.com/krmcat/krmcat/registry/reference"
)

// choice is a rule that applies, with its requirements.
type choice struct {
	rule    Rule
	demand  *Demand
	pattern reference.Pattern // the pattern that matched
}

// checkers returns the checks of one policy, one for each rule that applies.
func (t *TrustPolicy) checkers(r Request, now func() time.Time) []ruleChecker {
	chosen, complete := t.choose(r)
	var out []ruleChecker
	for _, c := range chosen {
		out = append(out, ruleChecker{policy: t, request: r, rule: c.rule, demand: c.demand, now: now})
	}
	if !complete {
		out = append(out, ruleChecker{policy: t, request: r, now: now})
	}
	return out
}

// choose returns the rules that apply. The author of a reference can choose its spelling, and must
// not choose the rule. So for every spelling the most specific rule applies, together with every
// narrowed one, and all must be satisfied. complete is false if a spelling has no rule, unless
// another one names the digest: then there is a rule about these bytes.
func (t *TrustPolicy) choose(r Request) (chosen []choice, complete bool) {
	complete = true
	add := func(c choice) {
		if !slices.ContainsFunc(chosen, func(o choice) bool { return o.demand == c.demand && o.rule.Where == c.rule.Where }) {
			chosen = append(chosen, c)
		}
	}
	for _, ref := range append([]reference.Locator{r.Ref}, r.Also...) {
		spellings := ref.Spellings()
		c := t.best(r.Use, ref)
		pinned := c.demand != nil && c.pattern.Pinned() // it is about these bytes under any name
		if pinned {
			add(c)
			spellings = append(spellings, ref)
		}
		for _, s := range spellings {
			alone := false
			for _, c := range t.narrow(r, s) {
				add(c)
				// If the content itself claims its function and requests, they relax nothing.
				alone = alone || c.pattern.Match(s) && !r.Claimed && c.rule.named(r)
			}
			if pinned {
				continue
			}
			c := t.best(r.Use, s)
			if c.demand != nil {
				add(c)
			}
			if c.demand == nil || !c.pattern.Exact() || s.AnyTag() {
				t.hidden(r.Use, s, add)
			}
			complete = complete && (c.demand != nil || alone)
		}
	}
	if !complete {
		complete = slices.ContainsFunc(chosen, func(c choice) bool {
			return c.pattern.Pinned() && !(c.rule.narrow() && (r.Claimed || !c.rule.named(r)))
		})
	}
	return chosen, complete
}

// narrow returns every narrowed rule that applies to the request.
func (t *TrustPolicy) narrow(r Request, s reference.Locator) []choice {
	var out []choice
	for _, rule := range t.Rules {
		d := rule.of(r.Use)
		i := slices.IndexFunc(rule.Match, func(p reference.Pattern) bool { return p.Match(s) || p.MayMatch(s) })
		if d != nil && i >= 0 && rule.narrow() && rule.fits(r) {
			out = append(out, choice{rule, d, rule.Match[i]})
		}
	}
	return out
}

// misnamed returns what to write if a rule would be sufficient, but names the function with another
// case; "" for none.
func (t *TrustPolicy) misnamed(r Request) string {
	for _, rule := range t.Rules {
		if rule.of(r.Use) == nil || !rule.fits(r) || rule.named(r) || r.Claimed {
			continue
		}
		for _, p := range rule.Match {
			if slices.ContainsFunc(r.Ref.Spellings(), p.Match) {
				return r.Functions[0].Group + "/" + r.Functions[0].Kind + " in " + rule.Where
			}
		}
	}
	return ""
}

// best returns the most specific rule for a spelling. Of equally specific rules the first applies.
func (t *TrustPolicy) best(use Use, ref reference.Locator) choice {
	var best choice
	for _, rule := range t.Rules {
		d := rule.of(use)
		if d == nil || rule.narrow() {
			continue
		}
		for _, p := range rule.Match {
			if p.Match(ref) && (best.demand == nil || p.Compare(best.pattern) < 0) {
				best = choice{rule, d, p}
			}
		}
	}
	return best
}

// hidden adds every rule that may match a place with an unusual spelling. Otherwise the spelling
// would avoid the rule.
func (t *TrustPolicy) hidden(use Use, s reference.Locator, add func(choice)) {
	for _, rule := range t.Rules {
		d := rule.of(use)
		i := slices.IndexFunc(rule.Match, func(p reference.Pattern) bool { return p.MayMatch(s) })
		if d != nil && i >= 0 && !rule.narrow() {
			add(choice{rule, d, rule.Match[i]})
		}
	}
}

// Unasked returns the positions of rules that match a place but only apply to certain functions,
// and are not applied because the function is unknown.
func (p Policy) Unasked(r Request) []string {
	var out []string
	for _, doc := range p.Documents {
		for _, rule := range doc.Rules {
			about := rule.narrow() && (rule.Deny != "" || rule.of(r.Use) != nil) && r.Use != UseCatalog
			if about && slices.ContainsFunc(rule.Match, func(p reference.Pattern) bool {
				return slices.ContainsFunc(r.Ref.Spellings(), p.Match)
			}) {
				out = append(out, rule.Where)
			}
		}
	}
	return out
}
