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

// foreseen refuses what may not be used whatever is found there, and whatever that may be used
// as: nobody is asked for it then. What is on this machine is looked at, so that everything is
// said of it.
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

// directRequest is who is asked about a reference by itself.
type directRequest struct {
	ref        reference.Locator // with the digest that the user's config has for it
	checkers   []verify.Checker
	notApplied []string // where rules stand that are for some functions
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

// direct verifies what the user asked about, by the rules for everything that it is used as.
func (r *Renderer) direct(ctx context.Context, o AuditOptions, a registry.Artifact, uses ...verify.Use) (Audited, verify.Trusted) {
	row := Audited{Ref: a.Pinned().Display(), Digest: a.Root.Digest.String(), Kind: string(a.Role)}
	d := o.directRequest(a.From, uses...)
	a.From = d.ref
	if len(d.notApplied) > 0 {
		row.Note = "which function it is nobody says here, so what is for some functions was not asked: " + strings.Join(slices.Compact(d.notApplied), ", ")
	}
	return r.decide(ctx, o, verify.Subject{Artifact: a}, row, d.checkers)
}

// decide verifies an artifact, and says of it what a render would: of an index it is this
// machine's manifest that would be used. Where nothing is in force but policies that are tried
// out, they say what they would once they are.
func (r *Renderer) decide(ctx context.Context, o AuditOptions, s verify.Subject, row Audited, by []verify.Checker) (Audited, verify.Trusted) {
	here, err := r.forThisPlatform(ctx, s.Artifact)
	if err != nil {
		return withError(row, err), verify.Trusted{}
	}
	whole := s.Artifact
	s.Artifact.Manifest = here.Manifest
	if s.Promised == "" { // which is held against the first file of what was found
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
			no.Reasons = append(no.Reasons, e.Detail)
		}
		err = no
	}
	return r.withVerdict(ctx, whole, row, key, err), key
}

// forThisPlatform is what of an index is for this machine; anything else is itself, and so is an index with
// nothing for this machine, or for krmcat.
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

// pinned is the digest that the user's config has for a place, and where.
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
