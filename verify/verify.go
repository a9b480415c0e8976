package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry"
)

// Subject is the content to decide about.
type Subject struct {
	Artifact registry.Artifact
	// Promised is the digest of Blob in a catalog or lock file, "" for none.
	Promised digest.Digest
	// Inner returns the digest of the program in the blob if that is an archive, because a
	// catalog's sha256 may be of either (KEP-2906 does not say which). Nil if it is not one.
	Inner func(ctx context.Context, blob []byte) (digest.Digest, error)

	attached *attached // attachments, fetched by the first rule that needs them
}

// Blob returns the file of the artifact that is used, the first, and reports whether there is one.
func (s Subject) Blob() (ocispec.Descriptor, bool) {
	if len(s.Artifact.Files) == 0 {
		return ocispec.Descriptor{}, false
	}
	return s.Artifact.Files[0], true
}

// Pinned reports whether a digest of the content was given, by the reference or by Promised.
func (s Subject) Pinned() bool { return s.Promised != "" || s.Artifact.From.Digest != "" }

// Evidence says why content is trusted.
type Evidence struct {
	Method  string `json:"method"`            // pinned, flag, catalog, …
	Detail  string `json:"detail"`            // who vouches, and how
	Warning string `json:"warning,omitempty"` // a weakness
	// Vouches means that somebody vouches for these bytes, by a signature or a digest. It then
	// also covers what these bytes pin.
	Vouches bool `json:"vouches"`
	// Signatures are the signatures that were checked.
	Signatures []Signature `json:"signatures,omitempty"`

	// Audit means that it is not evidence: a policy in audit mode would have refused the content.
	Audit bool `json:"audit,omitempty"`

	policy *TrustPolicy // the policy that it satisfies, nil for none
	needed int          // number of different signers required; 0 for one
}

// same reports whether two pieces of evidence say the same.
func (e Evidence) same(other Evidence) bool {
	return e.Method == other.Method && e.Detail == other.Detail && e.policy == other.policy && e.Vouches == other.Vouches
}

// Checker is one check. Check returns the evidence, or an error: an *UntrustedError if the content
// is not trusted, another one if it could not be checked.
type Checker interface {
	Check(ctx context.Context, s Subject) (Evidence, error)
}

// Trusted is content that was verified. Only Verify makes one; the zero value gives no access.
type Trusted struct{ c *content }

type content struct {
	artifact registry.Artifact
	evidence []Evidence
	covered  int // number of files that the evidence covers, from the first
	beside   []Trusted
}

// ErrNotVerified is returned by the methods of a Trusted that Verify did not make.
var ErrNotVerified = errors.New("content was not verified")

// Artifact returns the verified artifact.
func (t Trusted) Artifact() (registry.Artifact, error) {
	if t.c == nil {
		return registry.Artifact{}, ErrNotVerified
	}
	return t.c.artifact, nil
}

// Evidence returns why the content is trusted.
func (t Trusted) Evidence() []Evidence {
	if t.c == nil {
		return nil
	}
	return t.c.evidence
}

// Audit returns what policies in audit mode would have refused.
func (t Trusted) Audit() []Evidence { return audits(t.Evidence()) }

// With returns t with further content that it uses, each verified on its own. Their evidence names
// the file. If one of them is a zero value, so is the result.
func (t Trusted) With(more ...Trusted) Trusted {
	if t.c == nil || len(more) == 0 {
		return t
	}
	both := *t.c
	both.evidence, both.beside = slices.Clone(both.evidence), slices.Clone(both.beside)
	for _, m := range more {
		if m.c == nil {
			return Trusted{}
		}
		both.beside = append(both.beside, m)
		both.evidence = addBeside(both.evidence, m.c)
	}
	return Trusted{&both}
}

// Beside returns content that t uses, by the title of its first file, and reports whether there is
// such content.
func (t Trusted) Beside(name string) (Trusted, bool) {
	if t.c == nil {
		return Trusted{}, false
	}
	for _, m := range t.c.beside {
		if m.c.title() == name {
			return m, true
		}
	}
	return Trusted{}, false
}

// title returns the title of the first file.
func (c *content) title() string {
	if len(c.artifact.Files) == 0 {
		return ""
	}
	return registry.Title(c.artifact.Files[0])
}

// addBeside adds the evidence of content that other content uses, without duplicates.
func addBeside(to []Evidence, c *content) []Evidence {
	for _, e := range c.evidence {
		if !e.Audit && slices.ContainsFunc(to, e.same) {
			continue
		}
		e.Detail, e.Vouches = c.title()+": "+e.Detail, false // it covers this file only
		to = append(to, e)
	}
	return to
}

// Read returns the content of the i-th file, from 0, verified by its digest. A sha256 covers one
// file: without other evidence, reading the others is an *UntrustedError.
func (t Trusted) Read(ctx context.Context, i int) ([]byte, error) {
	a, err := t.Artifact()
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= len(a.Files) {
		return nil, fmt.Errorf("%s has %d files, asked for number %d", a.From, len(a.Files), i+1)
	}
	if i >= t.c.covered {
		return nil, &UntrustedError{Ref: a.From.Display(), Digest: a.Root.Digest, Reasons: Because(fmt.Sprintf(
			"the promised sha256 is that of the first file, and nothing vouches for %q: pin the reference by its digest", registry.Title(a.Files[i])))}
	}
	return a.Read(ctx, a.Files[i])
}

// UntrustedError reports that content may not be used, with all reasons.
type UntrustedError struct {
	Ref     string        // the reference as written
	Digest  digest.Digest // the resolved digest, if known
	Reasons []Reason
	Flag    string // the flag that would allow it, or ""
	NoRule  bool   // nobody was asked, and there is no other reason
	Write   string // what to write in place of the reference, if it lacks a digest or its scheme
	// Signatures are the rejected signatures; nil if none were read.
	Signatures []Signature
	// Audit is the evidence of policies in audit mode.
	Audit []Evidence
}

// Error has the reference, its digest and the reasons.
func (e *UntrustedError) Error() string {
	at := e.Ref
	if e.Digest != "" && !strings.Contains(at, string(e.Digest)) {
		at += " (" + e.Digest.String() + ")"
	}
	return at + " is not trusted: " + strings.Join(Texts(e.Reasons), "; ")
}

// noRule is the refusal where nobody was asked.
func noRule(s Subject) *UntrustedError {
	no := refuse(s, "no rule says that it may be used")
	no.NoRule = true
	return no
}

// Verify calls every checker, in order, and returns a Trusted if all accept the content. Content
// that differs from a promised digest is refused, whatever the checkers say. Without checkers it
// refuses. Errors: an *UntrustedError with the reasons of all checkers, or else what could not be
// checked.
func Verify(ctx context.Context, s Subject, checkers ...Checker) (Trusted, error) {
	if len(checkers) == 0 {
		return Trusted{}, noRule(s)
	}
	if err := checkPromise(ctx, s); err != nil {
		return Trusted{}, err
	}
	s.attached = &attached{}
	var evidence []Evidence
	var refused *UntrustedError
	var unchecked []error
	expected := Foresee(s, checkers...)
	certain := expected != nil
	for _, c := range checkers {
		if certain {
			c = unasked(c)
		}
		e, err := c.Check(ctx, s)
		var no *UntrustedError
		switch {
		case err == nil && (e.Method == methodPassed || slices.ContainsFunc(evidence, e.same)): // or the same evidence twice
		case err == nil:
			evidence = append(evidence, e)
		case !errors.As(err, &no):
			unchecked = append(unchecked, err)
		case refused == nil:
			refused, certain = no, certain || final(c)
		default:
			refused, certain = refused.and(no), certain || final(c)
		}
	}
	switch {
	case refused != nil: // checks that failed would not change it
		refused.Audit = audits(evidence)
		return Trusted{}, refused
	case expected != nil: // a link or the clock changed meanwhile, and no signatures were checked
		return Trusted{}, expected
	case len(unchecked) > 0:
		return Trusted{}, errors.Join(unchecked...)
	case len(audits(evidence)) == len(evidence): // no checker accepted it
		no := noRule(s)
		no.Audit = evidence
		return Trusted{}, no
	}
	return Trusted{&content{artifact: s.Artifact, evidence: evidence, covered: s.covers()}}, nil
}

// covers returns the number of files that the evidence covers: one if there is only the sha256 of a
// file, otherwise all.
func (s Subject) covers() int {
	if s.Promised != "" && s.Artifact.From.Digest == "" {
		return 1
	}
	return len(s.Artifact.Files)
}

// and joins two refusals.
func (e *UntrustedError) and(more *UntrustedError) *UntrustedError {
	both := *e
	for _, r := range more.Reasons {
		if !slices.Contains(both.Reasons, r) {
			both.Reasons = append(slices.Clip(both.Reasons), r)
		}
	}
	both.NoRule = e.NoRule && more.NoRule
	both.Flag = cmp.Or(e.Flag, more.Flag)
	both.Write = cmp.Or(e.Write, more.Write)
	both.Signatures = bothLists(e.Signatures, more.Signatures)
	return &both
}

// bothLists joins two lists. The result is nil only if both are: an empty list means that
// signatures were read.
func bothLists(a, b []Signature) []Signature {
	if a == nil {
		return b
	}
	return append(slices.Clip(a), b...)
}

func refuse(s Subject, reasons ...string) *UntrustedError {
	return &UntrustedError{Ref: s.Artifact.From.Display(), Digest: s.Artifact.Root.Digest, Reasons: Because(reasons...)}
}

// checkPromise compares the promised digests with the content.
func checkPromise(ctx context.Context, s Subject) error {
	if want, got := s.Artifact.From.Digest, s.Artifact.Root.Digest; want != "" && want != got {
		return refuse(s, fmt.Sprintf("the reference is pinned to %s, found %s", want, got))
	}
	if s.Promised == "" {
		return nil
	}
	blob, ok := s.Blob()
	if !ok {
		return refuse(s, "it has no content to compare with the promised "+s.Promised.String())
	}
	if blob.Digest == s.Promised {
		return nil
	}
	reason := fmt.Sprintf("the catalog promises sha256 %s, the file has %s", s.Promised.Encoded(), blob.Digest.Encoded())
	if s.Inner == nil {
		return refuse(s, reason)
	}
	data, err := s.Artifact.Read(ctx, blob)
	if err != nil {
		return fmt.Errorf("reading %s to compare its digest: %w", s.Artifact.From.Display(), err)
	}
	inner, err := s.Inner(ctx, data)
	switch {
	case err != nil:
		return refuse(s, reason, "and inside it: "+err.Error())
	case inner == "":
		return refuse(s, reason)
	case inner != s.Promised:
		return refuse(s, reason, "the program inside it has "+inner.Encoded())
	}
	return nil
}
