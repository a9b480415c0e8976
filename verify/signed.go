package verify

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/shared"
	"github.com/krmcat/krmcat/registry"
)

// Signed requires signatures, by one Method. It checks each artifact once per run.
type Signed struct {
	Method string
	Judge  Judge
	Where  string // file:line of the section, or the flags

	judged shared.Calls[string, Verdict]
}

// lookFor is the maximum time to fetch the signatures of one artifact.
const lookFor = 5 * time.Minute

// noSignatures is the refusal of a file from https or from disk that must be signed.
const noSignatures = "a plain file carries no signature: publish it to a registry or an OCI layout, or exempt it by a rule of its own"

// check fetches the attachments of the subject's root and has them verified.
func (g *Signed) check(ctx context.Context, s Subject) (Evidence, error) {
	if s.Artifact.Plain() {
		return Evidence{}, refuse(s, noSignatures)
	}
	v, err := g.judged.Do(ctx, placeKey(s.Artifact, s.Artifact.Root.Digest), func() (Verdict, error) { return g.judge(ctx, s) })
	switch {
	case err != nil && unusable(err):
		return Evidence{}, refuse(s, "its attachments cannot be used: "+err.Error())
	case err != nil:
		return Evidence{}, fmt.Errorf("looking for signatures of %s: %w", s.Artifact.From.Display(), err)
	case len(v.Reasons) > 0:
		no := refuse(s)
		no.Reasons = v.Reasons
		no.Signatures = append([]Signature{}, v.Signatures...)
		return Evidence{}, no
	}
	return Evidence{Method: g.Method, Detail: describe(v.Signatures), Vouches: true, Signatures: v.Signatures, needed: v.Needed}, nil
}

// placeKey identifies content by place and digest.
func placeKey(a registry.Artifact, d digest.Digest) string {
	at := a.From.Normal()
	return at.Scheme + " " + at.Name + " " + d.String()
}

// attached are the fetched attachments of a subject, so that several rules share one request.
type attached struct {
	query registry.Query
	found []registry.Attachment
	err   error
	asked bool
}

func (s Subject) attachments(ctx context.Context, q registry.Query) ([]registry.Attachment, error) {
	if s.attached != nil && s.attached.asked && reflect.DeepEqual(s.attached.query, q) {
		return s.attached.found, s.attached.err
	}
	found, err := s.Artifact.Attachments(ctx, s.Artifact.Root.Digest, q)
	if s.attached != nil {
		*s.attached = attached{q, found, err, true}
	}
	return found, err
}

func (g *Signed) judge(ctx context.Context, s Subject) (Verdict, error) {
	subject := s.Artifact.Root.Digest
	looking, stop := context.WithTimeout(ctx, lookFor)
	defer stop()
	found, err := s.attachments(looking, g.Judge.Query(subject))
	if err != nil && looking.Err() != nil && ctx.Err() == nil {
		err = &registry.UnreachableError{Ref: s.Artifact.From.Display(), Err: fmt.Errorf("its signatures were not received within %s", lookFor)}
	}
	if err != nil {
		return Verdict{}, err
	}
	v, err := g.Judge.Judge(ctx, subject, found)
	for i := range v.Signatures {
		v.Signatures[i].Section = g.Where
	}
	if err == nil && len(v.Reasons) == 0 && !slices.ContainsFunc(v.Signatures, func(s Signature) bool { return s.Verified }) {
		return v, errors.New("the judge gave neither a reason nor a valid signature")
	}
	return v, err
}

// unusable reports whether fetched content is invalid, which is a reason to refuse, as opposed to
// content that could not be fetched.
func unusable(err error) bool {
	var digest *registry.DigestError
	var manifest *registry.ManifestError
	var large *registry.TooLargeError
	var many *registry.TooManyError
	var missing *registry.NotFoundError // a listed signature is missing
	return errors.As(err, &digest) || errors.As(err, &manifest) || errors.As(err, &large) ||
		errors.As(err, &many) || errors.As(err, &missing)
}

// describe names the signers and the forms of their signatures.
func describe(list []Signature) string {
	var order []string
	forms := map[string][]string{}
	for _, s := range list {
		if !s.Verified {
			continue
		}
		who := s.who()
		if forms[who] == nil {
			order = append(order, who)
		}
		if !slices.Contains(forms[who], s.Form) {
			forms[who] = append(forms[who], s.Form)
		}
	}
	for i, who := range order {
		order[i] = who + " [" + strings.Join(forms[who], ", ") + "]"
	}
	return "signed by " + strings.Join(order, " and by ")
}

// Claims returns the claims of an artifact's signatures, without verifying them. Errors are those
// of fetching them.
func Claims(ctx context.Context, a registry.Artifact, methods []Method) ([]Signature, error) {
	var out []Signature
	if a.Plain() {
		return nil, nil
	}
	for _, m := range methods {
		j, err := m.Judge(nil, nil)
		if err != nil {
			return nil, err
		}
		found, err := a.Attachments(ctx, a.Root.Digest, j.Query(a.Root.Digest))
		if err != nil {
			return nil, err
		}
		v, err := j.Judge(ctx, a.Root.Digest, found)
		if err != nil {
			return nil, err
		}
		out = append(out, v.Signatures...)
	}
	return out, nil
}
