package verify

import (
	"slices"
	"time"

	"github.com/krmcat/krmcat/registry/reference"
)

// choice is a rule that decides, and what it demands.
type choice struct {
	rule    Rule
	demand  *Demand
	pattern reference.Pattern // by which it was chosen
}

// checkers are who has to say yes by one policy: each rule that is chosen.
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

// choose gives the rules that decide. Whoever writes a reference chooses its spelling, and
// must not choose the rule with it: for every spelling in play the most specific rule
// decides, beside it every narrow one, and all of them have to be satisfied. It is incomplete
// where no rule is for one of the spellings, unless another names the digest: then somebody
// decided about these very bytes.
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
		pinned := c.demand != nil && c.pattern.Pinned() // about these bytes, whatever they are called
		if pinned {
			add(c)
			spellings = append(spellings, ref)
		}
		for _, s := range spellings {
			alone := false
			for _, c := range t.narrow(r, s) {
				add(c)
				// What it is a function of, and what it asks for, is its own word: that opens nothing.
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

// narrow gives every rule for some functions or some reach that is for what is asked about.
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

// misnamed is what to write where a rule would have decided alone, had it named a function by its very
// letters; "" for none.
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

// best gives the most specific rule for a spelling, and what it demands. Of two that are
// equally specific the first wins.
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

// hidden gives every rule that might be for a place that hides what it names: only by their
// spelling such places would be left to a rule for all the rest.
func (t *TrustPolicy) hidden(use Use, s reference.Locator, add func(choice)) {
	for _, rule := range t.Rules {
		d := rule.of(use)
		i := slices.IndexFunc(rule.Match, func(p reference.Pattern) bool { return p.MayMatch(s) })
		if d != nil && i >= 0 && !rule.narrow() {
			add(choice{rule, d, rule.Match[i]})
		}
	}
}

// Unasked are the rules that are for a place, and only for some of the functions there: where
// nobody says which function it is, they are not asked. They are given by where they stand.
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
