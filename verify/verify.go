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

// Subject is what a decision is asked about.
type Subject struct {
	Artifact registry.Artifact
	// Promised is the digest that a catalog or a lock file gives for the blob that
	// is used. Empty for none.
	Promised digest.Digest
	// Inner computes the digest of the program inside the blob, where the blob is an
	// archive: a catalog's sha256 may be of either (KEP-2906 does not say which). Nil
	// where there is nothing inside.
	Inner func(ctx context.Context, blob []byte) (digest.Digest, error)

	attached *attached // what was fetched for it, by whichever rule asked first
}

// Blob is the file of the artifact that is used: the first.
func (s Subject) Blob() (ocispec.Descriptor, bool) {
	if len(s.Artifact.Files) == 0 {
		return ocispec.Descriptor{}, false
	}
	return s.Artifact.Files[0], true
}

// Pinned reports whether somebody wrote down a digest that these bytes must have.
func (s Subject) Pinned() bool { return s.Promised != "" || s.Artifact.From.Digest != "" }

// Evidence is why content is trusted, in words a person reads.
type Evidence struct {
	Method  string `json:"method"`            // pinned, flag, catalog, …
	Detail  string `json:"detail"`            // who vouched, by what
	Warning string `json:"warning,omitempty"` // what is weak about it
	// Vouches is true where somebody stands for these very bytes: a signature, or a digest
	// that was written down. What such bytes pin is covered too.
	Vouches bool `json:"vouches"`
	// Signatures are those that were looked at.
	Signatures []Signature `json:"signatures,omitempty"`

	// Audit is set where it is no evidence: a policy that is tried out would have refused.
	Audit bool `json:"audit,omitempty"`

	policy *TrustPolicy // that it satisfies; nil where it is of none
	needed int          // how many different signers it took; 0 for one
}

// same tells evidence that says nothing new.
func (e Evidence) same(other Evidence) bool {
	return e.Method == other.Method && e.Detail == other.Detail && e.policy == other.policy && e.Vouches == other.Vouches
}

// Checker says yes with its evidence, or no with an error: an *UntrustedError where
// the content is not trusted, any other where it could not be checked.
type Checker interface {
	Check(ctx context.Context, s Subject) (Evidence, error)
}

// Trusted is content that somebody vouched for. Only Verify fills it in; the zero
// value yields nothing.
type Trusted struct{ c *content }

type content struct {
	artifact registry.Artifact
	evidence []Evidence
	covered  int // how many of the files the evidence is about, from the first
	beside   []Trusted
}

// ErrNotVerified is returned by every method of a Trusted that Verify did not make.
var ErrNotVerified = errors.New("content was not verified")

// Artifact returns what was verified.
func (t Trusted) Artifact() (registry.Artifact, error) {
	if t.c == nil {
		return registry.Artifact{}, ErrNotVerified
	}
	return t.c.artifact, nil
}

// Evidence returns why it is trusted.
func (t Trusted) Evidence() []Evidence {
	if t.c == nil {
		return nil
	}
	return t.c.evidence
}

// Audit is what policies that are tried out say against it.
func (t Trusted) Audit() []Evidence { return audits(t.Evidence()) }

// With is t, and beside it further content that it uses, each verified by itself. The evidence
// of it says which file it is about.
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

// Beside gives content that t uses, by the title of its first file.
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

// title is what the first file is called.
func (c *content) title() string {
	if len(c.artifact.Files) == 0 {
		return ""
	}
	return registry.Title(c.artifact.Files[0])
}

// addBeside adds the evidence of content that other content uses, where it says something new.
func addBeside(to []Evidence, c *content) []Evidence {
	for _, e := range c.evidence {
		if !e.Audit && slices.ContainsFunc(to, e.same) {
			continue
		}
		e.Detail, e.Vouches = c.title()+": "+e.Detail, false // for the file, and for nothing else
		to = append(to, e)
	}
	return to
}

// Read returns one file of the verified artifact, checked against its digest. A sha256 is
// about one file: where nothing else vouches, the others are refused.
func (t Trusted) Read(ctx context.Context, i int) ([]byte, error) {
	a, err := t.Artifact()
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= len(a.Files) {
		return nil, fmt.Errorf("%s has %d files, asked for number %d", a.From, len(a.Files), i+1)
	}
	if i >= t.c.covered {
		return nil, &UntrustedError{Ref: a.From.Display(), Digest: a.Root.Digest, Reasons: []string{fmt.Sprintf(
			"the promised sha256 is that of the first file, and nobody vouches for %q: pin the reference by its digest", registry.Title(a.Files[i]))}}
	}
	return a.Read(ctx, a.Files[i])
}

// UntrustedError says that content may not be used, with every reason.
type UntrustedError struct {
	Ref     string        // the reference as written
	Digest  digest.Digest // what it resolved to, where known
	Reasons []string
	Flag    string // the flag that would allow it, where there is one
	NoRule  bool   // nobody was asked, and there is no other reason
	Write   string // what to write in place of the reference, where it is the digest that misses
	// Signatures are those that were found and do not do; nil where nobody looked.
	Signatures []Signature
	// Audit is what policies that are tried out say beside it.
	Audit []Evidence
}

func (e *UntrustedError) Error() string {
	at := e.Ref
	if e.Digest != "" && !strings.Contains(at, string(e.Digest)) {
		at += " (" + e.Digest.String() + ")"
	}
	return at + " is not trusted: " + strings.Join(e.Reasons, "; ")
}

// noRule is the refusal where nobody was asked.
func noRule(s Subject) *UntrustedError {
	no := refuse(s, "no rule says that it may be used")
	no.NoRule = true
	return no
}

// Verify asks every checker, in order, and gives the key if all say yes. Bytes that
// differ from what was promised are refused whatever the checkers say. It refuses to
// decide without a checker.
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
		case err == nil && (e.Method == methodPassed || slices.ContainsFunc(evidence, e.same)): // or the same by two rules
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
	case refused != nil: // whatever could not be checked would not change it
		refused.Audit = audits(evidence)
		return Trusted{}, refused
	case expected != nil: // a link was changed, or a clock, and nobody was asked for signatures
		return Trusted{}, expected
	case len(unchecked) > 0:
		return Trusted{}, errors.Join(unchecked...)
	case len(audits(evidence)) == len(evidence): // nobody said yes
		no := noRule(s)
		no.Audit = evidence
		return Trusted{}, no
	}
	return Trusted{&content{artifact: s.Artifact, evidence: evidence, covered: s.covers()}}, nil
}

// covers is how many files the evidence is about: all, unless all there is is the sha256 of
// one.
func (s Subject) covers() int {
	if s.Promised != "" && s.Artifact.From.Digest == "" {
		return 1
	}
	return len(s.Artifact.Files)
}

// and is both refusals in one.
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

// bothLists is nil only where both are: an empty list says that somebody looked.
func bothLists(a, b []Signature) []Signature {
	if a == nil {
		return b
	}
	return append(slices.Clip(a), b...)
}

func refuse(s Subject, reasons ...string) *UntrustedError {
	return &UntrustedError{Ref: s.Artifact.From.Display(), Digest: s.Artifact.Root.Digest, Reasons: reasons}
}

// checkPromise compares what was written down with what was found.
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
