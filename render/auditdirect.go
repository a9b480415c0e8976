package render

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
)

// foreseen refuses a remote reference that may not be used whatever its content and use are, so
// that it is not requested. A local one is read, so that all reasons are reported.
func (o AuditOptions) foreseen(ref reference.Locator) error {
	if ref.Local() {
		return nil
	}
	var all []verify.Checker
	var refused error
	for _, use := range []verify.Use{verify.UseCatalog, verify.UseScript} {
		d := o.directRequest(ref, use)
		s := verify.Subject{Artifact: registry.Artifact{From: d.ref}}
		if refused = verify.Foresee(s, d.checkers...); refused == nil {
			return nil
		}
		if all = append(all, d.checkers...); use == verify.UseScript {
			refused = verify.Foresee(s, all...)
		}
	}
	return refused
}

// directRequest has the checks of a reference that the user gave.
type directRequest struct {
	ref        reference.Locator // with the digest from the user's config
	checkers   []verify.Checker
	notApplied []string // positions of rules for certain functions
}

func (o AuditOptions) directRequest(ref reference.Locator, uses ...verify.Use) directRequest {
	out := directRequest{ref: ref}
	pin, by := o.pinned(ref.At(o.Dir))
	if by != "" {
		out.ref.Digest = pin
		out.checkers = append(out.checkers, verify.Pinned{By: by})
	}
	for _, use := range uses {
		ask := verify.Request{Use: use, Ref: out.ref.At(o.Dir), By: "the command line", Direct: true}
		out.checkers = append(out.checkers, o.Policy.Checkers(ask)...)
		out.notApplied = append(out.notApplied, o.Policy.Unasked(ask)...)
	}
	return out
}

// direct verifies a reference that the user gave, by the rules for all its uses.
func (r *Renderer) direct(ctx context.Context, o AuditOptions, a registry.Artifact, uses ...verify.Use) (Audited, verify.Trusted) {
	row := Audited{Ref: a.Pinned().Display(), Digest: a.Root.Digest.String(), Kind: string(a.Role)}
	d := o.directRequest(a.From, uses...)
	a.From = d.ref
	if len(d.notApplied) > 0 {
		row.Note = "the function is unknown here, so rules for certain functions were not applied: " + strings.Join(slices.Compact(d.notApplied), ", ")
	}
	return r.decide(ctx, o, verify.Subject{Artifact: a}, row, d.checkers)
}

// decide verifies an artifact as a render would: in an index, the manifest for this machine is
// used. If only policies in audit mode apply, the result is what they would decide.
func (r *Renderer) decide(ctx context.Context, o AuditOptions, s verify.Subject, row Audited, by []verify.Checker) (Audited, verify.Trusted) {
	here, err := r.forThisPlatform(ctx, s.Artifact)
	if err != nil {
		return withError(row, err), verify.Trusted{}
	}
	whole := s.Artifact
	s.Artifact.Manifest = here.Manifest
	if s.Promised == "" { // the promised digest is compared with the first file of the artifact
		s.Artifact.Files = here.Files
	}
	key, err := verify.Verify(ctx, s, by...)
	tried := key.Audit()
	var no *verify.UntrustedError
	if errors.As(err, &no) && no.NoRule {
		tried = no.Audit
	}
	row.Audit = len(tried) > 0 && !o.Policy.Enforces() && !o.Policy.RequireDigests
	if err == nil && row.Audit {
		no = &verify.UntrustedError{Ref: whole.From.Display(), Digest: whole.Root.Digest}
		for _, e := range tried {
			no.Reasons = append(no.Reasons, verify.Reason{Text: e.Detail})
		}
		err = no
	}
	return r.withVerdict(ctx, whole, row, key, err), key
}

// forThisPlatform returns the manifest of an index for this machine. It returns a unchanged if it
// is not an index, or has nothing for this machine or for krmcat.
func (r *Renderer) forThisPlatform(ctx context.Context, a registry.Artifact) (registry.Artifact, error) {
	if a.Manifest.Digest != "" || a.Plain() {
		return a, nil
	}
	var none *registry.PlatformError
	var other *registry.RoleError
	below, err := r.Resolve(ctx, a.Pinned(), registry.Want{})
	if errors.As(err, &none) || errors.As(err, &other) {
		return a, nil
	}
	return below, err
}

// pinned returns the digest of a place in the user's config, and its position.
func (o AuditOptions) pinned(l reference.Locator) (digest.Digest, string) {
	for _, c := range o.ConfigTrusted {
		if !c.Pattern.Exact() || !c.Pattern.Pinned() {
			continue
		}
		entry, err := reference.Parse(c.Pattern.String())
		if err == nil && entry.Same(l) && (l.Digest == "" || l.Digest == entry.Digest) {
			return entry.Digest, c.Where + " " + c.Pattern.String()
		}
	}
	return "", ""
}
