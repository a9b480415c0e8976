package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/shared"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
)

// source is a trusted catalog, loaded when a function first needs it.
type source struct {
	ref      reference.Locator
	entry    trustEntry // why it is trusted
	declared string     // where a target declares it first, "" for nowhere
	exact    bool       // the entry is the declared string with its digest, or trusts any version
	policy   verify.Policy
	resolver catalog.Resolver

	mu       sync.Mutex
	evidence []verify.Evidence
	audit    []verify.Evidence // evidence of policies in audit mode
	artifact registry.Artifact
	loaded   bool
}

// newSource prepares a catalog. It is fetched at the first lookup.
func (r *Renderer) newSource(ref reference.Locator, entry trustEntry, p verify.Policy) *source {
	s := &source{ref: ref, entry: entry, policy: p}
	s.resolver = catalog.Lazy(func(ctx context.Context) (*catalog.Catalog, error) { return r.fetchCatalog(ctx, s) })
	return s
}

// fetchCatalog resolves, verifies and reads a catalog, in this order.
func (r *Renderer) fetchCatalog(ctx context.Context, s *source) (*catalog.Catalog, error) {
	if err := s.foreseen(); err != nil {
		return nil, err
	}
	r.event(Event{Phase: PhaseBind, Text: "reading catalog " + s.ref.Display()})
	if err := r.sameAsTrusted(ctx, s); err != nil {
		return nil, err
	}
	artifact, err := r.Resolve(ctx, s.ref, registry.Want{Role: mediatypes.RoleCatalog})
	if err != nil {
		return nil, s.missing(err)
	}
	key, err := verify.Verify(ctx, verify.Subject{Artifact: artifact}, s.checkers()...)
	s.keepAudits(key.Evidence(), err)
	if err != nil {
		return nil, err
	}
	data, err := key.Read(ctx, 0)
	if err != nil {
		return nil, err
	}
	c, err := decode(ctx, s.ref.Display(), data)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.artifact, s.evidence, s.loaded = artifact, key.Evidence(), true
	return c, nil
}

// missing says which flag names the catalog, if it is not found.
func (s *source) missing(err error) error {
	if !s.entry.flag || !errors.As(err, new(*registry.NotFoundError)) {
		return err
	}
	if e := registry.MissingScheme(s.entry.written, s.ref); e != nil {
		err = e
		if s.declared != "" {
			e.Try = "write " + e.Mended() + " at " + s.declared + " and in " + s.entry.by
		}
	}
	return &flagError{s.entry.name(), err}
}

// flagError is an error about the value of a flag.
type flagError struct {
	flag string // with its value
	err  error
}

func (e *flagError) Error() string { return e.err.Error() }

// Unwrap returns the error about the value.
func (e *flagError) Unwrap() error { return e.err }

// Details implements failure.Detailed.
func (e *flagError) Details() failure.Details { return failure.Details{Option: e.flag, Outer: true} }

// checkers returns the checks that the catalog must pass.
func (s *source) checkers() []verify.Checker {
	return s.policy.Checkers(verify.Request{
		Use: verify.UseCatalog, Ref: s.ref, Also: s.entry.spelling(s.ref), By: s.entry.name(),
		PinnedByTarget: s.ref.Digest != "" && !s.entry.pinned(),
	})
}

// foreseen refuses a remote catalog that may not be used whatever its content is. A local one is
// read first, so that all reasons are reported.
func (s *source) foreseen() error {
	if s.ref.Local() {
		return nil
	}
	return verify.Foresee(verify.Subject{Artifact: registry.Artifact{From: s.ref}}, s.checkers()...)
}

// keepAudits keeps the evidence of policies in audit mode.
func (s *source) keepAudits(evidence []verify.Evidence, err error) {
	var no *verify.UntrustedError
	if errors.As(err, &no) {
		evidence = no.Audit
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range evidence {
		if e.Audit {
			s.audit = append(s.audit, e)
		}
	}
}

// reportAudits reports the evidence of policies in audit mode about the catalogs that were read.
func (catalogs *trustedCatalogs) reportAudits() {
	list := slices.AppendSeq([]*source{}, maps.Values(catalogs.sources))
	if catalogs.official != nil {
		list = append(list, catalogs.official)
	}
	slices.SortFunc(list, func(a, b *source) int { return strings.Compare(a.ref.String(), b.ref.String()) })
	for _, s := range list {
		for _, e := range s.audit {
			catalogs.renderer.event(Event{Phase: PhaseBind, Text: "catalog " + s.ref.Display() + ": " + e.Detail, Audit: true})
		}
		s.audit = nil // reported once
	}
}

// sameAsTrusted prevents the rendered files from choosing a version: if the declaration has a
// digest and the trust entry has none, the digest must be what the entry resolves to now.
func (r *Renderer) sameAsTrusted(ctx context.Context, s *source) error {
	if s.ref.Digest == "" || s.entry.locator.Digest != "" || s.exact {
		return nil
	}
	now, err := r.Resolve(ctx, s.entry.locator, registry.Want{Role: mediatypes.RoleCatalog})
	if err != nil {
		return err
	}
	if now.Root.Digest == s.ref.Digest {
		return nil
	}
	return &verify.UntrustedError{
		Ref: s.ref.Display(),
		Reasons: verify.Because(fmt.Sprintf("%s trusts the current version, %s, and no other",
			s.entry.name(), now.Root.Digest)),
		Flag: "--trusted-catalog " + failure.ShellWord(s.ref.Display()),
	}
}

// Malformed marks the syntax errors of a catalog that was requested by reference as refusals: it is
// unknown what it trusts, and whose mistake it is.
func Malformed(err error) error {
	var all *catalog.SyntaxErrors
	if errors.As(err, &all) {
		for _, one := range all.List {
			one.Err = failure.Untrusted.Mark(cmp.Or(one.Err, errMalformed))
		}
	}
	return err
}

var errMalformed = errors.New("it is not a valid catalog")

// decode reads a catalog. It returns when ctx ends, without waiting for a large catalog.
func decode(ctx context.Context, name string, data []byte) (*catalog.Catalog, error) {
	type result struct {
		c   *catalog.Catalog
		err error
	}
	done := make(chan result, 1)
	go func() {
		c, err := catalog.Decode(name, data)
		done <- result{c, Malformed(err)}
	}()
	select {
	case r := <-done:
		return r.c, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// mayName refuses a reference to this machine or its network in a remote catalog. The author of
// such a catalog must not choose requests to hosts that only this machine can reach.
func (s *source) mayName(l reference.Locator) error {
	if s.ref.MayName(l) {
		return nil
	}
	return failure.NotPermitted.Mark(fmt.Errorf("%s is on this machine or in its network, and the catalog is not: such a catalog must not refer to it", l.Display()))
}

// pinned returns the catalog with the digest at which it was read.
func (s *source) pinned() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded {
		return s.ref.Display()
	}
	return s.artifact.Pinned().Display()
}

// description names the catalog in messages.
func (s *source) description() string { return "the catalog " + s.pinned() }

// catalogEvidence returns why the catalog is trusted, nil before it was read.
func (s *source) catalogEvidence() []verify.Evidence {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.evidence
}

// resolveOnce resolves every reference once per run, so that a tag that moves has one result.
type resolveOnce struct {
	resolve fnexec.ResolveFunc
	calls   shared.Calls[resolveKey, registry.Artifact]
}

type resolveKey struct {
	locator reference.Locator
	want    registry.Want
}

func (o *resolveOnce) do(ctx context.Context, l reference.Locator, w registry.Want) (registry.Artifact, error) {
	return o.calls.Do(ctx, resolveKey{l.Normal(), w}, func() (registry.Artifact, error) {
		a, err := o.resolve(ctx, l, w)
		var malformed *registry.ManifestError
		if errors.As(err, &malformed) { // what cannot be read cannot be verified
			err = &verify.UntrustedError{Ref: l.Display(), Digest: malformed.Digest, Reasons: verify.Because("malformed manifest: " + malformed.Err.Error())}
		}
		return a, err
	})
}

// parseAt parses a reference relative to a directory.
func parseAt(s, dir string) (reference.Locator, error) {
	l, err := reference.Parse(s)
	if err != nil {
		return l, fmt.Errorf("catalog %q: %w", s, err)
	}
	return l.At(dir), nil
}
