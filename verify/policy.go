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

// Pinned accepts content with a digest that somebody trusted has given, in the reference or as a
// catalog's sha256. It refuses content without one.
type Pinned struct {
	By string // who gave it, for messages: "the catalog oci://…", "flag --trusted-catalog"
	// ByCatalog means that By is a catalog, to which its author must add a missing digest.
	ByCatalog bool
	// Target means that the rendered files gave the digest, and that By only trusts the place:
	// the content is fixed, but nobody trusted chose it.
	Target bool
}

// Check implements Checker. Verify has compared the digest.
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

// refusal refuses content without a digest, nil if it has one.
func (p Pinned) refusal(s Subject) *UntrustedError {
	if s.Pinned() {
		return nil
	}
	reason := "neither a sha256 nor a digest is given for it"
	if p.ByCatalog {
		no := refuse(s, reason+" by "+p.By+" (krmcat push --pin writes them into a catalog)")
		if s.Artifact.From.Scheme == reference.SchemeFile && s.Artifact.Root.Digest != "" { // the user can edit the catalog
			no.Write = "sha256: " + s.Artifact.Root.Digest.Encoded() + " beside its path"
		}
		return no
	}
	no := refuse(s, reason)
	no.Write = withDigest(s.Artifact)
	return no
}

// WithoutDigest accepts content that a trusted party names but does not pin, with a warning: the
// publisher can change it at any time. Content with a digest is checked as by Pinned.
type WithoutDigest struct {
	By     string
	Target bool // as in Pinned
	Signed bool // a signature is required too, so there is no warning
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

// unpinned returns the warning for content without a digest, and what to write instead.
func unpinned(a registry.Artifact) string {
	msg := "no digest is given: everybody who can change it decides what runs"
	write := withDigest(a)
	if write == "" {
		return msg
	}
	if a.From.Tag == "" {
		msg = "neither a tag nor a digest is given, so latest was taken: everybody who can change it decides what runs"
	}
	return msg + "; write " + write
}

// withDigest returns the reference with its digest, "" if a reference cannot pin it.
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

// UserFlag accepts content because the user allows it on the command line. The content is not
// verified, and the evidence says so.
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

// Policy is what content must satisfy before it may be used. The zero value is the default: what a
// trusted catalog names may run, exec functions only with a digest.
type Policy struct {
	RequireDigests bool // refuse content that is not pinned
	// Documents are the policies in force. All must be satisfied, so another one only makes the
	// requirements stricter.
	Documents []*TrustPolicy
	// Now is the clock for exemptions; nil for time.Now.
	Now func() time.Time
}

// Enforces reports whether a document is in enforce mode.
func (p Policy) Enforces() bool {
	return slices.ContainsFunc(p.Documents, func(t *TrustPolicy) bool { return !t.Audit })
}

// Use is the kind of use of content.
type Use int

// The uses.
const (
	UseCatalog Use = iota // a catalog
	UseScript             // runs inside this process without any access: a digest is optional
	UseProgram            // runs on this machine: a digest is required
	UseImage              // runs in a container: a digest is optional
)

// Request is a question to the policies.
type Request struct {
	Use Use
	Ref reference.Locator // the reference by which rules are selected; local places absolute
	// Also are other spellings of the place, in a flag or the user's config. Rules are selected by
	// each of them.
	Also []reference.Locator
	By   string // what names the content, for messages
	// ByCatalog means that By is a catalog.
	ByCatalog bool
	// PinnedByTarget means that the rendered files give the digest of a catalog, and that By only
	// names the place.
	PinnedByTarget bool
	// Flag is the flag by which the user allows local content that no catalog names, "" for none.
	Flag string
	// Direct means that the user asks about the content itself: only rules apply.
	Direct bool
	// Catalog is the evidence of the catalog that names a runtime, nil for none.
	Catalog []Evidence
	// Functions are the functions that use the content as a runtime. Claimed means that the
	// rendered files name them and Reach, not a catalog.
	Functions []Function
	Claimed   bool
	// Reach is what a runtime requests.
	Reach []Reach
}

func (r Request) pinned() Pinned {
	return Pinned{By: r.By, ByCatalog: r.ByCatalog, Target: r.PinnedByTarget}
}

// Checkers returns the checks that the content must pass.
func (p Policy) Checkers(r Request) []Checker {
	var denies, out []Checker // denials come before requests for signatures
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
	Name string // for messages: the file, or the flags
	// Audit means audit mode: refusals become evidence, and the content is used.
	Audit bool
	// Machine means that it is the policy of a machine, not of the user: a digest that the user
	// gives does not vouch for content in it.
	Machine bool
	Rules   []Rule

	indexes indexes // denied indexes
}

// vouched reports whether evidence of a catalog covers, in this policy, what the catalog pins.
// Evidence of another policy does not. A digest that the user gave does in the user's policies.
func (t *TrustPolicy) vouched(e Evidence) bool {
	return e.Vouches && (e.policy == t || e.policy == nil && !t.Machine)
}

// ruleChecker checks the requirements of one rule.
type ruleChecker struct {
	policy  *TrustPolicy
	request Request
	rule    Rule
	demand  *Demand // nil if no rule applies
	now     func() time.Time
}

// signed returns the required signatures, nil for none.
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

// refusal refuses content without a rule, with an expired exemption, without a required digest, or
// whose requirements cannot be satisfied; nil if more is needed to decide.
func (c ruleChecker) refusal(s Subject) *UntrustedError {
	_, held := c.chain(s)
	signs := c.signed()
	if held && (c.demand == nil || !c.demand.OwnSignature) {
		signs = nil // the catalog vouches for it
	}
	switch {
	case impossible(signs):
		return refuse(s, fmt.Sprintf("%s asks for %s, by different signers, but there are too few", c.rule.Where, c.demand))
	case c.demand == nil && !held:
		no := refuse(s, fmt.Sprintf("no rule of %s applies to it%s", c.policy.Name, c.hint()))
		no.Write = c.policy.misnamed(c.request)
		return no
	case c.demand != nil && c.demand.Nothing != "" && c.over():
		return refuse(s, fmt.Sprintf("%s exempted it (%s), and the exemption expired: it was valid until %s", c.rule.Where, c.demand.Nothing, c.demand.end()))
	case c.demand != nil && c.demand.Nothing == "" && c.demand.Digests && !s.Pinned():
		return refuse(s, fmt.Sprintf("%s asks for a digest, and neither a sha256 nor a digest is given for it", c.rule.Where))
	}
	return nil
}

// chain returns the evidence of a runtime that a verified catalog pins, and reports whether there
// is some: the signature of the catalog covers the digest in it.
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

// hint returns the alternative to a rule for a runtime, for the message.
func (c ruleChecker) hint() string {
	if c.request.Use == UseCatalog || len(c.request.Catalog) == 0 {
		return ""
	}
	return ", and no verified catalog pins it"
}

// over reports whether an exemption has expired.
func (c ruleChecker) over() bool {
	return !c.demand.Until.IsZero() && !c.now().Before(c.demand.Until)
}

// exempt returns the evidence of exempted content.
func (c ruleChecker) exempt() Evidence {
	e := Evidence{Method: "exempt", Detail: "by " + c.rule.Where + ": " + c.demand.Nothing, Warning: "nothing was verified"}
	if !c.demand.Until.IsZero() {
		e.Detail += ", until " + c.demand.end()
	}
	return e
}

// asking adds the requirement to a refusal.
func (c ruleChecker) asking(signed *Signed, no *UntrustedError) *UntrustedError {
	no.Reasons = append(Because(fmt.Sprintf("%s asks for %s", c.rule.Where, signed.Judge)), no.Reasons...)
	return no
}

// judge checks the signatures of all groups, each by different signers.
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
		no := refuse(s, fmt.Sprintf("%s asks for %s, by different signers, but there are too few: it is %s", c.rule.Where, c.demand, out.Detail))
		no.Signatures = out.Signatures
		return Evidence{}, no
	}
	return out, nil
}
