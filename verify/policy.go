package verify

import (
	"context"
	"fmt"
	"strings"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
)

// Pinned trusts content by its digest: somebody who is trusted wrote it down, in the
// reference or as a catalog's sha256. Content without one is refused.
type Pinned struct {
	By string // who wrote it down: "catalog oci://…", "flag --trusted-catalog"
	// Target is set where the files that are rendered wrote it down, and By only trusts the
	// place: the bytes are fixed, and nobody who is trusted chose them.
	Target bool
}

// Check implements Checker. That the digest fits has been seen to by Verify.
func (p Pinned) Check(_ context.Context, s Subject) (Evidence, error) {
	if !s.Pinned() {
		reason := "neither a sha256 nor a digest is given for it"
		if strings.HasPrefix(p.By, "the catalog ") {
			reason += " by " + p.By + " (krmcat push --pin writes them into a catalog)"
			return Evidence{}, refuse(s, reason)
		}
		no := refuse(s, reason)
		no.Write = withDigest(s.Artifact)
		return Evidence{}, no
	}
	d := s.Promised
	if d == "" {
		d = s.Artifact.From.Digest
	}
	if p.Target {
		return Evidence{Method: "pinned", Detail: d.String() + " by the target, its place trusted by " + p.By}, nil
	}
	return Evidence{Method: "pinned", Detail: d.String() + " by " + p.By, Vouches: true}, nil
}

// WithoutDigest trusts content that a trusted party names but does not pin: the bytes
// are whatever its publisher serves today. The evidence carries a warning. Where a
// digest is given after all, it counts as Pinned.
type WithoutDigest struct {
	By     string
	Target bool // as that of Pinned
	Signed bool // a signature is asked for beside it: nothing to warn of
}

// Check implements Checker.
func (w WithoutDigest) Check(ctx context.Context, s Subject) (Evidence, error) {
	if s.Pinned() {
		return Pinned{By: w.By, Target: w.Target}.Check(ctx, s)
	}
	e := Evidence{Method: "named", Detail: "by " + w.By}
	if !w.Signed {
		e.Warning = unpinned(s.Artifact)
	}
	return e, nil
}

// unpinned says what follows from naming no digest, and what to write instead.
func unpinned(a registry.Artifact) string {
	msg := "no digest is given: whoever can change it decides what runs"
	write := withDigest(a)
	if write == "" {
		return msg
	}
	if a.From.Tag == "" {
		msg = "neither a tag nor a digest is given, so latest was taken: whoever can change it decides what runs"
	}
	return msg + "; write " + write
}

// withDigest is what to write for an artifact so that it is pinned, "" where a reference
// cannot do that.
func withDigest(a registry.Artifact) string {
	if a.From.Scheme != registry.SchemeOCI || a.Root.Digest == "" {
		return ""
	}
	write := a.Pinned().Display()
	if a.Role == mediatypes.RoleContainer {
		write = strings.TrimPrefix(write, registry.SchemeOCI+"://")
	}
	return write
}

// UserFlag trusts content because the user said so on the command line. Nothing about
// the bytes is verified, and the evidence says that.
type UserFlag struct {
	Flag string
}

// Check implements Checker.
func (u UserFlag) Check(_ context.Context, s Subject) (Evidence, error) {
	e := Evidence{Method: "flag", Detail: "user's flag " + u.Flag}
	if !s.Pinned() {
		e.Detail += ", unverified"
	}
	return e, nil
}

// Policy is what is demanded of content before it may be used. The zero value is the
// default: what a trusted catalog names may run, exec functions only with a digest.
type Policy struct {
	RequireDigests bool // nothing runs that is not pinned
	// Documents are the policies in force. Each has to be satisfied: a further one only
	// makes things stricter.
	Documents []*TrustPolicy
}

// Use says which kind of content a decision is about.
type Use int

// The uses.
const (
	UseCatalog Use = iota // a catalog the user trusts by flag
	UseScript             // runs inside this process, without reach: may go unpinned
	UseProgram            // runs on this machine: must be pinned
	UseImage              // runs in a container: may go unpinned
)

// Request is what a policy is asked about.
type Request struct {
	Use Use
	Ref registry.Locator // what rules are looked up by; local places absolute
	By  string           // who names it, for people
	// PinnedByTarget is set where the digest of a catalog stands in the files that are
	// rendered, and By names the place alone.
	PinnedByTarget bool
	// Flag is the flag by which the user allows content of this machine's disk, without
	// a catalog in between. Empty for none.
	Flag string
	// Direct is set where the user asks about the content itself, and nobody names it: rules
	// alone decide.
	Direct bool
	// Catalog is why the catalog that names a runtime is trusted, nil where none does.
	Catalog []Evidence
}

// Checkers returns who must say yes to what is asked about.
func (p Policy) Checkers(r Request) []Checker {
	var out []Checker
	signed := false
	for _, doc := range p.Documents {
		c := doc.checker(r)
		signed = signed || c.signed() != nil
		out = append(out, c)
	}
	switch {
	case r.Direct && !p.RequireDigests:
		return out
	case r.Flag != "" && !p.RequireDigests:
		return append(out, UserFlag{Flag: r.Flag})
	case p.RequireDigests || r.Use == UseProgram:
		return append([]Checker{Pinned{By: r.By, Target: r.PinnedByTarget}}, out...)
	}
	return append([]Checker{WithoutDigest{By: r.By, Target: r.PinnedByTarget, Signed: signed}}, out...)
}

// TrustPolicy is a document of rules: krmcat.dev/v1alpha1 TrustPolicy.
type TrustPolicy struct {
	Name  string // for people: the file, or the flags
	Rules []Rule
}

// Rule says what is demanded of the places that it is for.
type Rule struct {
	Match    []registry.Pattern
	Catalogs *Demand // nil: the rule does not speak of catalogs
	Runtimes *Demand // nil: the rule does not speak of runtimes
	Where    string  // file:line, or the flag
}

// Demand is what content has to show.
type Demand struct {
	Digests bool // a digest or sha256 has to be given
	// Signatures judge what is attached to the content; all have to say yes.
	Signatures []*Signed
	// OwnSignature asks for signatures of runtimes that a verified catalog pins too.
	OwnSignature bool
	// Nothing is why nothing is demanded. Empty where something is.
	Nothing string
}

// String is what is demanded, for people; "" for a nil Demand.
func (d *Demand) String() string {
	switch {
	case d == nil:
		return ""
	case d.Nothing != "":
		return "nothing: " + d.Nothing
	}
	var parts []string
	if d.Digests {
		parts = append(parts, "a digest")
	}
	for _, s := range d.Signatures {
		parts = append(parts, s.Judge.String())
	}
	text := strings.Join(parts, " and ")
	if d.OwnSignature {
		text += ", although a catalog pins it"
	}
	return text
}

// find gives the most specific rule for what is asked about, and what it demands. Of two
// that are equally specific the first wins.
func (t *TrustPolicy) find(r Request) (Rule, *Demand) {
	var rule Rule
	var demand *Demand
	var best registry.Pattern
	for _, candidate := range t.Rules {
		d := candidate.Runtimes
		if r.Use == UseCatalog {
			d = candidate.Catalogs
		}
		if d == nil {
			continue
		}
		for _, p := range candidate.Match {
			if p.Match(r.Ref) && (demand == nil || p.Compare(best) < 0) {
				rule, demand, best = candidate, d, p
			}
		}
	}
	return rule, demand
}

func (t *TrustPolicy) checker(r Request) ruleChecker {
	rule, demand := t.find(r)
	return ruleChecker{policy: t, request: r, rule: rule, demand: demand}
}

// ruleChecker asks what one policy demands of one thing.
type ruleChecker struct {
	policy  *TrustPolicy
	request Request
	rule    Rule
	demand  *Demand // nil where no rule is for it
}

// signed are the signatures that are demanded, nil where none are.
func (c ruleChecker) signed() []*Signed {
	if c.demand == nil || c.demand.Nothing != "" {
		return nil
	}
	return c.demand.Signatures
}

// Check implements Checker.
func (c ruleChecker) Check(ctx context.Context, s Subject) (Evidence, error) {
	chain, held := c.chain(s)
	switch {
	case c.demand == nil && held:
		return chain, nil
	case c.demand == nil:
		return Evidence{}, refuse(s, fmt.Sprintf("no rule of %s is for it%s", c.policy.Name, c.hint()))
	case c.demand.Nothing != "":
		return Evidence{
			Method: "exempt", Detail: "by " + c.rule.Where + ": " + c.demand.Nothing,
			Warning: "nothing was verified",
		}, nil
	case c.demand.Digests && !s.Pinned():
		return Evidence{}, refuse(s, fmt.Sprintf("%s asks for a digest, and neither a sha256 nor a digest is given for it", c.rule.Where))
	case len(c.demand.Signatures) == 0:
		return Pinned{By: c.request.By, Target: c.request.PinnedByTarget}.Check(ctx, s)
	case held && !c.demand.OwnSignature:
		return chain, nil
	}
	return c.judge(ctx, s)
}

// chain is the evidence of a runtime that a verified catalog pins: whoever vouches for the
// catalog's bytes vouches for the digest that is written in them.
func (c ruleChecker) chain(s Subject) (Evidence, bool) {
	if c.request.Use == UseCatalog || !s.Pinned() {
		return Evidence{}, false
	}
	for _, e := range c.request.Catalog {
		// Who satisfied one policy has no say in another; a digest that the user wrote has.
		if e.Vouches && (e.policy == nil || e.policy == c.policy) {
			return Evidence{
				Method: "chain", Detail: fmt.Sprintf("pinned by %s, for which there is: %s: %s", c.request.By, e.Method, e.Detail),
				Vouches: true, policy: c.policy,
			}, true
		}
	}
	return Evidence{}, false
}

// hint says what else would have done for a runtime without a rule.
func (c ruleChecker) hint() string {
	if c.request.Use == UseCatalog || len(c.request.Catalog) == 0 {
		return ""
	}
	return ", nor does a verified catalog pin it"
}

// judge asks for signatures.
func (c ruleChecker) judge(ctx context.Context, s Subject) (Evidence, error) {
	out := Evidence{Vouches: true, policy: c.policy}
	for _, signed := range c.demand.Signatures {
		e, err := signed.check(ctx, s)
		if untrusted, ok := err.(*UntrustedError); ok { //nolint:errorlint // check gives it as it is
			untrusted.Reasons = append([]string{fmt.Sprintf("%s asks for %s", c.rule.Where, signed.Judge)}, untrusted.Reasons...)
		}
		if err != nil {
			return Evidence{}, err
		}
		if out.Method != "" {
			out.Method, out.Detail = out.Method+", ", out.Detail+"; "
		}
		out.Method += e.Method
		out.Detail += e.Detail
		out.Signatures = append(out.Signatures, e.Signatures...)
	}
	return out, nil
}
