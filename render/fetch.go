package render

import (
	"context"
	"fmt"
	"sync"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify"
)

// source is a catalog that the user trusts, loaded when a function first needs it.
type source struct {
	ref      registry.Locator
	flag     string // the --trusted-catalog that names it, as written
	policy   verify.Policy
	resolver catalog.Resolver

	mu       sync.Mutex
	evidence []verify.Evidence
	artifact registry.Artifact
	loaded   bool
}

// newSource prepares a catalog. Nothing is fetched before it is asked.
func (r *Renderer) newSource(ref registry.Locator, flag string, p verify.Policy) *source {
	s := &source{ref: ref, flag: flag, policy: p}
	s.resolver = catalog.Lazy(func(ctx context.Context) (*catalog.Catalog, error) { return r.fetchCatalog(ctx, s) })
	return s
}

// fetchCatalog resolves, verifies and reads a catalog, in this order.
func (r *Renderer) fetchCatalog(ctx context.Context, s *source) (*catalog.Catalog, error) {
	r.event(Event{Phase: PhaseBind, Text: "reading catalog " + s.ref.String()})
	artifact, err := r.Resolve(ctx, s.ref, registry.Want{Role: mediatypes.RoleCatalog})
	if err != nil {
		return nil, err
	}
	key, err := verify.Verify(ctx, verify.Subject{Artifact: artifact},
		s.policy.Checkers(verify.UseCatalog, "--trusted-catalog "+s.flag)...)
	if err != nil {
		return nil, err
	}
	data, err := key.Read(ctx, 0)
	if err != nil {
		return nil, err
	}
	c, err := catalog.Decode(s.ref.String(), data)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.artifact, s.evidence, s.loaded = artifact, key.Evidence(), true
	return c, nil
}

// pinned is the catalog with the digest it was read at.
func (s *source) pinned() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded {
		return s.ref.String()
	}
	return s.artifact.Pinned().String()
}

// once resolves every reference a single time in a run: a tag that moves meanwhile cannot
// give two answers.
type once struct {
	resolve fnexec.ResolveFunc
	mu      sync.Mutex
	got     map[resolveKey]*resolved
}

type resolveKey struct {
	locator registry.Locator
	want    registry.Want
}

type resolved struct {
	done     chan struct{}
	artifact registry.Artifact
	err      error
}

func (o *once) do(ctx context.Context, l registry.Locator, w registry.Want) (registry.Artifact, error) {
	o.mu.Lock()
	if o.got == nil {
		o.got = map[resolveKey]*resolved{}
	}
	key := resolveKey{l, w}
	a, running := o.got[key]
	if !running {
		a = &resolved{done: make(chan struct{})}
		o.got[key] = a
	}
	o.mu.Unlock()
	if !running {
		a.artifact, a.err = o.resolve(ctx, l, w)
		close(a.done)
		return a.artifact, a.err
	}
	select {
	case <-a.done:
		return a.artifact, a.err
	case <-ctx.Done():
		return registry.Artifact{}, context.Cause(ctx)
	}
}

// parseAt reads a place, relative to a directory.
func parseAt(s, dir string) (registry.Locator, error) {
	l, err := registry.Parse(s)
	if err != nil {
		return l, fmt.Errorf("catalog %q: %w", s, err)
	}
	return l.At(dir), nil
}
