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

// source is a catalog that the user trusts, loaded when a function first needs it.
type source struct {
	ref      reference.Locator
	entry    trustEntry // what trusts it
	exact    bool       // the flag is the very string that is declared, digest and all, or any version is trusted
	policy   verify.Policy
	resolver catalog.Resolver

	mu       sync.Mutex
	evidence []verify.Evidence
	audit    []verify.Evidence // what policies that are tried out say of it
	artifact registry.Artifact
	loaded   bool
}

// newSource prepares a catalog. Nothing is fetched before it is asked.
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
		return nil, err
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

// checkers say whether the catalog may be used.
func (s *source) checkers() []verify.Checker {
	return s.policy.Checkers(verify.Request{
		Use: verify.UseCatalog, Ref: s.ref, Also: s.entry.spelling(s.ref), By: s.entry.name(),
		PinnedByTarget: s.ref.Digest != "" && !s.entry.pinned(),
	})
}

// foreseen refuses a catalog that may not be used whatever is found there. One that is on
// this machine is looked at, so that everything is said of it.
func (s *source) foreseen() error {
	if s.ref.Local() {
		return nil
	}
	return verify.Foresee(verify.Subject{Artifact: registry.Artifact{From: s.ref}}, s.checkers()...)
}

// keepAudits keeps what policies that are tried out say of a catalog.
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

// reportAudits tells what policies that are tried out say of the catalogs that were read.
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
		s.audit = nil // said
	}
}

// sameAsTrusted keeps the files that are rendered from choosing a version: a declaration
// that is pinned, where the flag is not, has to be pinned to what the flag means today.
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
		Reasons: []string{fmt.Sprintf("%s trusts what is there now, %s, and not every version",
			s.entry.name(), now.Root.Digest)},
		Flag: "--trusted-catalog " + s.ref.Display(),
	}
}

// Malformed marks what is wrong with a catalog that was asked for by its reference as refused: it is
// not known what is trusted of it, nor whose mistake it is.
func Malformed(err error) error {
	var all *catalog.SyntaxErrors
	if errors.As(err, &all) {
		for _, one := range all.List {
			one.Err = failure.Untrusted.Mark(cmp.Or(one.Err, errMalformed))
		}
	}
	return err
}

var errMalformed = errors.New("it is no catalog that can be read")

// decode reads a catalog, and does not wait for a large one when ctx ends.
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

// mayName refuses a place on this machine, or next to it, to a catalog from elsewhere: who
// writes such a catalog does not get to choose what is asked of hosts that only this
// machine can reach.
func (s *source) mayName(l reference.Locator) error {
	if s.ref.MayName(l) {
		return nil
	}
	return failure.NotPermitted.Mark(fmt.Errorf("%s is a place of this machine or next to it, and the catalog is not: it cannot name it", l.Display()))
}

// pinned is the catalog with the digest it was read at.
func (s *source) pinned() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded {
		return s.ref.Display()
	}
	return s.artifact.Pinned().Display()
}

// description is what the catalog is called where it names something.
func (s *source) description() string { return "the catalog " + s.pinned() }

// catalogEvidence is why the catalog is trusted, nil before it was read.
func (s *source) catalogEvidence() []verify.Evidence {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.evidence
}

// resolveOnce resolves every reference a single time in a run: a tag that moves meanwhile cannot
// give two answers.
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
		if errors.As(err, &malformed) { // nobody can stand for what cannot be read
			err = &verify.UntrustedError{Ref: l.Display(), Digest: malformed.Digest, Reasons: []string{"malformed manifest: " + malformed.Err.Error()}}
		}
		return a, err
	})
}

// parseAt reads a place, relative to a directory.
func parseAt(s, dir string) (reference.Locator, error) {
	l, err := reference.Parse(s)
	if err != nil {
		return l, fmt.Errorf("catalog %q: %w", s, err)
	}
	return l.At(dir), nil
}
