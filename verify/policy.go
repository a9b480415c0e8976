package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

// Pinned trusts content by its digest: somebody who is trusted wrote it down, in the
// reference or as a catalog's sha256. Content without one is refused.
type Pinned struct {
	By string // who wrote it down, for people: "the catalog oci://…", "flag --trusted-catalog"
	// ByCatalog is set where that is a catalog: what misses in it is for its author to write.
	ByCatalog bool
	// Target is set where the files that are rendered wrote it down, and By only trusts the
	// place: the bytes are fixed, and nobody who is trusted chose them.
	Target bool
}

// Check implements Checker. That the digest fits has been seen to by Verify.
func (p Pinned) Check(_ context.Context, s Subject) (Evidence, error) {
	if no := p.refusal(s); no != nil {
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

// refusal is of content without a digest, nil where there is one.
func (p Pinned) refusal(s Subject) *UntrustedError {
	if s.Pinned() {
		return nil
	}
	reason := "neither a sha256 nor a digest is given for it"
	if p.ByCatalog {
		no := refuse(s, reason+" by "+p.By+" (krmcat push --pin writes them into a catalog)")
		if s.Artifact.From.Scheme == reference.SchemeFile && s.Artifact.Root.Digest != "" { // the catalog is the user's to edit
			no.Write = "sha256: " + s.Artifact.Root.Digest.Encoded() + " beside its path"
		}
		return no
	}
	no := refuse(s, reason)
	no.Write = withDigest(s.Artifact)
	return no
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
	if a.From.Scheme != reference.SchemeOCI || a.Root.Digest == "" {
		return ""
	}
	write := a.Pinned().Display()
	if a.Role == mediatypes.RoleContainer {
		write = strings.TrimPrefix(write, reference.SchemeOCI+"://")
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
	// Now is the clock that exemptions end by; nil for time.Now.
	Now func() time.Time
}

// Enforces reports whether some document refuses what does not satisfy it.
func (p Policy) Enforces() bool {
	return slices.ContainsFunc(p.Documents, func(t *TrustPolicy) bool { return !t.Audit })
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
	Ref reference.Locator // what rules are looked up by; local places absolute
	// Also are further ways in which the place was written by those who have a say: as a flag
	// or the user's config trusts it. Rules are looked up by each of them.
	Also []reference.Locator
	By   string // who names it, for people
	// ByCatalog is set where that is a catalog.
	ByCatalog bool
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
	// Functions are those that content is a runtime of, by name. Claimed is set where the files
	// that are rendered say so themselves, and what it reaches, and no catalog does.
	Functions []Function
	Claimed   bool
	// Reach is what a runtime asks for.
	Reach []Reach
}

func (r Request) pinned() Pinned {
	return Pinned{By: r.By, ByCatalog: r.ByCatalog, Target: r.PinnedByTarget}
}

// Checkers returns who must say yes to what is asked about.
func (p Policy) Checkers(r Request) []Checker {
	var denies, out []Checker // what is denied is refused before anybody is asked for signatures
	signed := false
	now := time.Now
	if p.Now != nil {
		now = p.Now
	}
	for _, doc := range p.Documents {
		if doc.denies() {
			denies = append(denies, doc.enforced(denyChecker{doc, r}))
		}
		for _, c := range doc.checkers(r, now) {
			signed = signed || !doc.Audit && c.signed() != nil
			out = append(out, doc.enforced(c))
		}
	}
	out = append(denies, out...)
	switch {
	case r.Direct && !p.RequireDigests:
		return out
	case r.Flag != "" && !p.RequireDigests:
		return append(out, UserFlag{Flag: r.Flag})
	case p.RequireDigests || r.Use == UseProgram:
		return append([]Checker{r.pinned()}, out...)
	}
	return append([]Checker{WithoutDigest{By: r.By, Target: r.PinnedByTarget, Signed: signed}}, out...)
}

// TrustPolicy is a document of rules: krmcat.dev/v1alpha1 TrustPolicy.
type TrustPolicy struct {
	Name string // for people: the file, or the flags
	// Audit is set where the policy is tried out: what it would refuse is evidence, and used.
	Audit bool
	// Machine is set where it is not the user's own, and holds for all who use a machine: what
	// the user vouches for by a digest is not vouched for in it.
	Machine bool
	Rules   []Rule

	indexes indexes // that it denies
}

// vouched reports whether evidence of a catalog covers, in this policy, what the catalog pins.
// Who satisfied one policy has no say in another. A digest that the user wrote has in the
// user's own.
func (t *TrustPolicy) vouched(e Evidence) bool {
	return e.Vouches && (e.policy == t || e.policy == nil && !t.Machine)
}

// ruleChecker asks what one rule demands of one thing.
type ruleChecker struct {
	policy  *TrustPolicy
	request Request
	rule    Rule
	demand  *Demand // nil where no rule is for it
	now     func() time.Time
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
	if no := c.refusal(s); no != nil {
		return Evidence{}, no
	}
	chain, held := c.chain(s)
	switch {
	case c.demand == nil:
		return chain, nil
	case c.demand.Nothing != "":
		return c.exempt(), nil
	case len(c.demand.Signatures) == 0:
		return c.request.pinned().Check(ctx, s)
	case held && !c.demand.OwnSignature:
		return chain, nil
	}
	return c.judge(ctx, s)
}

// refusal is of what no rule is for, of what is exempt no longer, of what a rule wants pinned and
// is not, and of what nobody could sign; nil where it takes more to tell.
func (c ruleChecker) refusal(s Subject) *UntrustedError {
	_, held := c.chain(s)
	signs := c.signed()
	if held && (c.demand == nil || !c.demand.OwnSignature) {
		signs = nil // the chain does
	}
	switch {
	case impossible(signs):
		return refuse(s, fmt.Sprintf("%s asks for %s, by different signers, and there are too few", c.rule.Where, c.demand))
	case c.demand == nil && !held:
		no := refuse(s, fmt.Sprintf("no rule of %s is for it%s", c.policy.Name, c.hint()))
		no.Write = c.policy.misnamed(c.request)
		return no
	case c.demand != nil && c.demand.Nothing != "" && c.over():
		return refuse(s, fmt.Sprintf("%s exempted it (%s), and that is over: it was until %s", c.rule.Where, c.demand.Nothing, c.demand.end()))
	case c.demand != nil && c.demand.Nothing == "" && c.demand.Digests && !s.Pinned():
		return refuse(s, fmt.Sprintf("%s asks for a digest, and neither a sha256 nor a digest is given for it", c.rule.Where))
	}
	return nil
}

// chain is the evidence of a runtime that a verified catalog pins: whoever vouches for the
// catalog's bytes vouches for the digest that is written in them.
func (c ruleChecker) chain(s Subject) (Evidence, bool) {
	if c.request.Use == UseCatalog || !s.Pinned() {
		return Evidence{}, false
	}
	for _, e := range c.request.Catalog {
		if c.policy.vouched(e) {
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

// over reports whether the time of an exemption is.
func (c ruleChecker) over() bool {
	return !c.demand.Until.IsZero() && !c.now().Before(c.demand.Until)
}

// exempt is the evidence of content of which nothing is demanded.
func (c ruleChecker) exempt() Evidence {
	e := Evidence{Method: "exempt", Detail: "by " + c.rule.Where + ": " + c.demand.Nothing, Warning: "nothing was verified"}
	if !c.demand.Until.IsZero() {
		e.Detail += ", until " + c.demand.end()
	}
	return e
}

// asking says with a refusal what was asked for.
func (c ruleChecker) asking(signed *Signed, no *UntrustedError) *UntrustedError {
	no.Reasons = append([]string{fmt.Sprintf("%s asks for %s", c.rule.Where, signed.Judge)}, no.Reasons...)
	return no
}

// judge asks for signatures: of all groups, each by signers of its own.
func (c ruleChecker) judge(ctx context.Context, s Subject) (Evidence, error) {
	out := Evidence{Vouches: true, policy: c.policy}
	var groups []Evidence
	var methods, details []string
	for _, signed := range c.demand.Signatures {
		e, err := signed.check(ctx, s)
		if untrusted, ok := err.(*UntrustedError); ok { //nolint:errorlint // check gives it as it is
			untrusted.Signatures = bothLists(out.Signatures, untrusted.Signatures)
			err = c.asking(signed, untrusted)
		}
		if err != nil {
			return Evidence{}, err
		}
		groups = append(groups, e)
		if !slices.Contains(methods, e.Method) {
			methods = append(methods, e.Method)
		}
		details = append(details, e.Detail)
		out.Signatures = append(out.Signatures, e.Signatures...)
	}
	out.Method, out.Detail = strings.Join(methods, ", "), strings.Join(details, "; ")
	if !apart(groups) {
		no := refuse(s, fmt.Sprintf("%s asks for %s, by different signers, and there are too few: it is %s", c.rule.Where, c.demand, out.Detail))
		no.Signatures = out.Signatures
		return Evidence{}, no
	}
	return out, nil
}
