package cli

import (
	"context"
	"fmt"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify/cosign"
)

// signedSoFar describes the existing signatures of a manifest.
type signedSoFar struct {
	of     ocispec.Descriptor
	own    map[string]signedRow // by the same key with the same content, by form: signing twice leaves one
	others int                  // legacy signatures that are not by the same key
	bundle bool                 // there is at least one
}

// hidden reports whether cosign would not find legacy signatures of others once there is a bundle:
// it ignores legacy signatures if there are bundles.
func (s signedSoFar) hidden() bool { return s.others > 0 && !s.bundle }

// hidesError reports that a new signature, which must be a bundle, would hide the legacy signatures
// of others from cosign.
type hidesError struct {
	ref    string
	others int
}

func (e *hidesError) Error() string {
	return fmt.Sprintf("%s has %s and no bundle: without a key a signature is a bundle, and beside one cosign does not look at the legacy form",
		e.ref, legacyOf(e.others))
}

// Is implements the kind of the error for errors.Is.
func (*hidesError) Is(kind error) bool { return kind == failure.NotPermitted }

// Details implements failure.Detailed.
func (*hidesError) Details() failure.Details {
	return failure.Details{Try: "--" + signatureFormatName + " bundle"}
}

func legacyOf(n int) string {
	if n == 1 {
		return "a legacy signature of somebody else"
	}
	return fmt.Sprintf("%d legacy signatures of others", n)
}

// look reads the signatures of a manifest. If no form is requested, and the only possible one would
// hide signatures of others, the error is a *hidesError.
func (s signing) look(ctx context.Context, a registry.Artifact, d ocispec.Descriptor) (signedSoFar, error) {
	out := signedSoFar{of: d, own: map[string]signedRow{}}
	found, err := a.Attachments(ctx, d.Digest, s.mine.Query(d.Digest))
	if err != nil {
		return out, err
	}
	v, err := s.mine.Judge(ctx, d.Digest, found)
	if err != nil {
		return out, err
	}
	for _, sig := range v.Signatures {
		switch {
		case sig.Form == string(cosign.FormBundle):
			out.bundle = true
		case !sig.Verified:
			out.others++
		}
	}
	if s.own == nil {
		if out.hidden() && !s.chosen {
			return out, &hidesError{a.Pinned().WithDigest(d.Digest).Display(), out.others}
		}
		return out, nil
	}
	if v, err = s.own.Judge(ctx, d.Digest, found); err != nil {
		return out, err
	}
	for _, sig := range v.Signatures {
		// The annotations of the claim were required; there must be no others.
		if sig.Verified && len(sig.Annotations) == len(s.claim.Annotations) {
			out.own[sig.Form] = signedRow{d.Digest.String(), platformOf(d), sig.Form, sig.Manifest.String(), true}
		}
	}
	return out, nil
}

// leavesOut reports whether no bundle is made, so that cosign still finds the legacy signatures.
func (s signing) leavesOut(was signedSoFar) bool { return was.hidden() && !s.chosen }

// notes returns messages about the effect on the signatures of others.
func (s signing) notes(was signedSoFar, rows []signedRow) []string {
	bundle := slices.ContainsFunc(rows, func(r signedRow) bool { return r.Form == string(cosign.FormBundle) })
	switch {
	case !was.hidden():
		return nil
	case s.leavesOut(was):
		return []string{fmt.Sprintf("%s has %s and no bundle: it was signed in the legacy form alone, since beside a bundle cosign does not look at that form (--%s %s adds one)",
			was.of.Digest, legacyOf(was.others), signatureFormatName, bothForms)}
	}
	if !bundle { // and none was requested
		return nil
	}
	return []string{fmt.Sprintf("%s has %s, which cosign does not look at any more: there is a bundle now", was.of.Digest, legacyOf(was.others))}
}
