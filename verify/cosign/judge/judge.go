package judge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/sigstore/sigstore-go/pkg/root"

	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify"
	"github.com/krmcat/krmcat/verify/cosign"
)

// maxSignatures is the maximum number of signatures of one manifest that are checked.
const maxSignatures = 64

// judge compares signatures with a demand. The zero value trusts nobody.
type judge struct {
	demand     Demand
	threshold  int
	keys       []*trustedKey
	identities []*trustedIdentity
	root       *root.TrustedRoot // nil for none
}

// String describes the requirements.
func (j *judge) String() string {
	out := "a signature by "
	names := j.signers()
	switch {
	case len(names) == 0:
		return "a signature, but no trusted signer is given"
	case j.threshold > 1:
		out = fmt.Sprintf("%d of the signers ", j.threshold)
	case len(names) > 1:
		out += "one of "
	}
	out += strings.Join(names, ", ")
	if a := words(j.demand.Annotations); a != "" {
		out += " with " + a
	}
	if since := j.demand.NotBefore; !since.IsZero() {
		out += ", made at " + stampText(since) + " or later"
	}
	return out
}

// Listed returns the possible signers, as verify.Listing does. The owners of certificates are
// unknown.
func (j *judge) Listed() (who []string, needed int, all bool) {
	for _, k := range j.keys {
		who = append(who, k.digest)
	}
	return who, j.threshold, len(j.identities) == 0
}

func (j *judge) signers() []string {
	var out []string
	for _, k := range j.keys {
		out = append(out, k.String())
	}
	for _, i := range j.identities {
		out = append(out, i.String())
	}
	return out
}

// finding is the result about one signature.
type finding struct {
	verify.Signature
	signer fmt.Stringer // a *trustedKey or *trustedIdentity, nil if it is not valid
}

// by sets the key as the signer. A certificate beside it is then unverified and ignored.
func (f *finding) by(k *trustedKey) {
	f.Key, f.Signer, f.Identity, f.Issuer = k.digest, k.name, "", ""
}

// Judge checks all signatures.
func (j *judge) Judge(ctx context.Context, subject digest.Digest, found []registry.Attachment) (verify.Verdict, error) {
	if err := subject.Validate(); err != nil {
		return verify.Verdict{}, fmt.Errorf("judging signatures of %q: %w", subject, err)
	}
	all := pieces(subject, found)
	looked := all[:min(len(all), maxSignatures)]
	findings := make([]finding, 0, len(looked))
	for _, p := range looked {
		if err := ctx.Err(); err != nil {
			return verify.Verdict{}, err
		}
		findings = append(findings, j.one(ctx, subject, p))
	}
	slices.SortStableFunc(findings, func(a, b finding) int {
		switch {
		case a.Verified == b.Verified:
			return 0
		case a.Verified:
			return -1
		}
		return 1
	})
	out := verify.Verdict{Reasons: j.reasons(findings), Needed: j.threshold}
	if n := len(all) - len(looked); n > 0 && len(out.Reasons) > 0 {
		out.Reasons = append(out.Reasons, verify.Reason{Text: fmt.Sprintf("%d more signatures were not checked", n)})
	}
	for _, f := range findings {
		out.Signatures = append(out.Signatures, f.Signature)
	}
	return out, nil
}

// one checks one signature. A panic of a library makes the signature invalid.
func (j *judge) one(ctx context.Context, subject digest.Digest, p piece) (f finding) {
	unread := verify.Signature{Form: string(p.form), Manifest: p.manifest, Reason: "it is malformed"}
	f.Signature = unread
	defer func() {
		if r := recover(); r != nil {
			f = finding{Signature: unread}
		}
	}()
	judged := j.bundle
	if p.form == FormLegacy {
		judged = j.legacy
	}
	who, err := judged(ctx, subject, p, &f)
	if err != nil {
		f.Reason, f.Logged = clean(err.Error(), maxReason), false
		return f
	}
	if f.TimeFrom == fromItself {
		f.Time, f.TimeFrom = nil, "" // not attested by anybody
	}
	f.Verified, f.signer, f.Reason = true, who, ""
	return f
}

// counted returns the entries that were signed for, and the number of different signers: a signer
// of two entries counts once, and so do two signers of one entry.
func counted(findings []finding) (entries []fmt.Stringer, signers int) {
	var by [][]string // signers of each entry
	for _, f := range findings {
		if !f.Verified {
			continue
		}
		i := slices.Index(entries, f.signer)
		if i < 0 {
			i = len(entries)
			entries, by = append(entries, f.signer), append(by, nil)
		}
		by[i] = append(by[i], f.Signatory())
	}
	return entries, verify.Apart(by)
}

// reasons returns why the signatures do not satisfy the demand, nil if they do.
func (j *judge) reasons(findings []finding) []verify.Reason {
	entries, signers := counted(findings)
	switch {
	case len(j.keys)+len(j.identities) > 0 && signers >= j.threshold:
		return nil
	case len(findings) == 0:
		return verify.Because("nobody signed it")
	case len(j.keys)+len(j.identities) == 0:
		return verify.Because("it is signed, but no policy or flag requires it")
	}
	var out []verify.Reason
	if j.threshold > 1 {
		found := fmt.Sprintf("%d of %d signatures needed", signers, j.threshold)
		for i, who := range entries {
			found += []string{": found ", " and "}[min(i, 1)] + who.String()
		}
		if signers < len(entries) {
			found += ", a signer of several of these counts once"
		}
		out = append(out, verify.Reason{Text: found})
	}
	for _, f := range findings {
		if f.Verified {
			continue
		}
		if r := f.Refusal(); !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	const shown = 8
	if n := len(out) - shown; n > 1 {
		out = append(out[:shown], verify.Reason{Text: fmt.Sprintf("and %d more reasons", n)})
	}
	return out
}

// counts returns an error if signatures of a form are not accepted, or nobody is trusted.
func (j *judge) counts(f Form) error {
	switch {
	case len(j.keys)+len(j.identities) == 0:
		return errNobody
	case len(j.demand.Forms) > 0 && !slices.Contains(j.demand.Forms, f):
		return fmt.Errorf("signatures of the %s form are not accepted here", f)
	}
	return nil
}

// key returns the key that made a signature of a message, nil for none.
func (j *judge) key(sig, message []byte) *trustedKey {
	for _, k := range j.keys {
		if k.verifier.fits(sig, message) {
			return k
		}
	}
	return nil
}

// noKey returns the error for a signature without a certificate that none of the keys made. It does
// not say that the signer is untrusted, because another section of the policy may accept it.
func (j *judge) noKey(claim string) error {
	if len(j.keys) == 0 {
		return errors.New("it has no certificate, and only identities are accepted here" + claim)
	}
	return errors.New("none of the required keys made it" + claim)
}

// annotated compares the annotations of a signature with the required ones.
func (j *judge) annotated(have map[string]any) error {
	for _, name := range sorted(j.demand.Annotations) {
		want := j.demand.Annotations[name]
		got, ok := have[name]
		switch {
		case !ok:
			return fmt.Errorf("it has no annotation %s, wanted %s", clean(name, maxWords), clean(want, maxWords))
		case got != any(want):
			return fmt.Errorf("annotation %s is %s, wanted %s", clean(name, maxWords), clean(fmt.Sprint(got), maxWords), clean(want, maxWords))
		}
	}
	return nil
}

// piece is one signature, before it is read.
type piece struct {
	form     Form
	manifest digest.Digest
	file     registry.AttachedFile
}

// pieces returns the signatures in attachments, without duplicates.
func pieces(subject digest.Digest, found []registry.Attachment) []piece {
	type identity struct {
		form           Form
		manifest, file digest.Digest
		signature      string
	}
	seen := map[identity]bool{}
	var out []piece
	for _, a := range found {
		form := FormBundle
		switch {
		case a.Tag != "" && a.Tag == cosign.LegacyTag(subject):
			form = FormLegacy
		case a.Tag != "":
			continue
		}
		for _, f := range a.Files {
			id := identity{form, a.Manifest.Digest, digest.FromBytes(f.Data), f.Annotations[signatureAnnotation]}
			if !seen[id] {
				seen[id] = true
				out = append(out, piece{form, a.Manifest.Digest, f})
			}
		}
	}
	return out
}
