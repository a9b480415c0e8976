package render

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/target"
	"github.com/krmcat/krmcat/verify"
)

// bound is a Step whose function was found.
type bound struct {
	step     target.Step
	kind     string // of the runtime
	by       string // who names the runtime: a catalog, or the functionConfig
	source   *source
	prepared fnexec.Prepared
	warnings []string
}

// UnresolvedError says that no trusted catalog has a function. Where catalogs are declared
// that the user does not trust, it names them: one of them might have had it.
type UnresolvedError struct {
	NotFound  *catalog.NotFoundError
	Untrusted []target.CatalogRef
}

func (e *UnresolvedError) Error() string {
	msg := e.NotFound.Error()
	if len(e.NotFound.Searched) == 0 && len(e.Untrusted) == 0 {
		msg += " (kustomize's legacy plugins are not supported)"
	}
	for _, c := range e.Untrusted {
		msg += fmt.Sprintf("; the catalog %s (%s) is not trusted and was not read", c.Declared, c.Where)
	}
	return msg
}

// Unwrap gives the NotFoundError, and an UntrustedError for each catalog not read.
func (e *UnresolvedError) Unwrap() []error {
	errs := []error{e.NotFound}
	for _, c := range e.Untrusted {
		errs = append(errs, &verify.UntrustedError{
			Ref: c.Declared, Reasons: []string{"it is declared at " + c.Where + " and no flag trusts it"},
			Flag: "--trusted-catalog " + c.Declared,
		})
	}
	return errs
}

// shelf is the catalogs of one layer, in the order they are searched.
type shelf struct {
	slots []slot
}

// slot is a declared catalog, or one that only a flag names.
type slot struct {
	source   *source            // nil where it is not trusted
	declared *target.CatalogRef // nil where only a flag names it
}

// bind finds the function of every Step. Catalogs that no Step needs are not fetched.
func (r *Renderer) bind(ctx context.Context, o Options, steps []target.Step) ([]bound, error) {
	lib, err := r.library(o, steps)
	if err != nil {
		return nil, err
	}
	out := make([]bound, len(steps))
	errs := make([]error, len(steps))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, s := range steps {
		g.Go(func() error {
			b, err := r.bindStep(ctx, o, s, lib)
			out[i], errs[i] = b, stepError(s, err)
			return nil
		})
	}
	_ = g.Wait()
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	for _, b := range out {
		r.report(PhaseBind, b, 0)
	}
	return out, all(distinct(errs))
}

// parallel is how many places are asked at once.
const parallel = 8

// distinct keeps one of the errors that several Steps share, such as a catalog that
// cannot be reached: the first Step stands for the rest.
func distinct(errs []error) []error {
	var kept []error
	seen := map[error]bool{}
	for _, err := range errs {
		if err == nil {
			continue
		}
		cause := errors.Unwrap(err)
		if seen[cause] {
			continue
		}
		seen[cause] = true
		kept = append(kept, err)
	}
	return kept
}

// library knows which catalogs are trusted, and by which flag.
type library struct {
	renderer *Renderer
	policy   verify.Policy
	flags    []trustFlag
	sources  map[registry.Locator]*source
	flagOnly []*source
}

type trustFlag struct {
	written string
	locator registry.Locator
}

// library reads the flags, and prepares every catalog that is declared somewhere.
func (r *Renderer) library(o Options, steps []target.Step) (*library, error) {
	lib := &library{renderer: r, policy: o.Policy, sources: map[registry.Locator]*source{}}
	var errs []error
	for _, w := range o.Trusted {
		l, err := parseAt(w, o.WorkDir)
		if err != nil {
			errs = append(errs, fmt.Errorf("--trusted-catalog: %w", err))
			continue
		}
		lib.flags = append(lib.flags, trustFlag{w, l})
	}
	if len(errs) > 0 {
		return nil, all(errs)
	}
	used := map[string]bool{}
	for _, s := range steps {
		for _, ref := range s.Catalogs {
			if f, l, err := lib.match(ref); err == nil && f != nil {
				used[f.written] = true
				lib.source(l, *f, f.written == ref.Declared)
			}
		}
	}
	for _, f := range lib.flags {
		if !used[f.written] {
			lib.flagOnly = append(lib.flagOnly, lib.source(f.locator, f, true))
		}
	}
	return lib, nil
}

// match finds the flag that trusts a declared catalog: by the very string, or by the same
// place. A flag may pin what is declared by tag, and one that does is preferred; two
// different pins do not match.
func (lib *library) match(ref target.CatalogRef) (*trustFlag, registry.Locator, error) {
	l, err := parseAt(ref.Declared, ref.Dir)
	if err != nil {
		return nil, l, fmt.Errorf("%s: %w", ref.Where, err)
	}
	var best *trustFlag
	for i, f := range lib.flags {
		same := f.written == ref.Declared || f.locator.Same(l)
		clash := f.locator.Digest != "" && l.Digest != "" && f.locator.Digest != l.Digest
		if !same || clash {
			continue
		}
		if best == nil || best.locator.Digest == "" && f.locator.Digest != "" {
			best = &lib.flags[i]
		}
	}
	if best != nil && l.Digest == "" {
		l.Digest = best.locator.Digest
	}
	return best, l, nil
}

func (lib *library) source(l registry.Locator, f trustFlag, byWord bool) *source {
	if s, ok := lib.sources[l]; ok {
		return s
	}
	s := lib.renderer.newSource(l, f, lib.policy)
	s.byWord = byWord
	lib.sources[l] = s
	return s
}

// shelf lists what is searched for a Step: the catalogs of its layer in order, then those
// that only a flag names.
func (lib *library) shelf(s target.Step) (shelf, error) {
	var out shelf
	for i := range s.Catalogs {
		ref := &s.Catalogs[i]
		f, l, err := lib.match(*ref)
		if err != nil {
			return out, err
		}
		sl := slot{declared: ref}
		if f != nil {
			sl.source = lib.sources[l]
			if sl.source == nil {
				return out, fmt.Errorf("the catalog %s was not prepared", l)
			}
		}
		out.slots = append(out.slots, sl)
	}
	for _, src := range lib.flagOnly {
		out.slots = append(out.slots, slot{source: src})
	}
	return out, nil
}

// bindStep finds the function of one Step and reads its runtime.
func (r *Renderer) bindStep(ctx context.Context, o Options, s target.Step, lib *library) (bound, error) {
	if s.Inline != nil {
		return r.bindInline(s)
	}
	sh, err := lib.shelf(s)
	if err != nil {
		return bound{}, err
	}
	fn, found, err := sh.find(ctx, s.ID)
	if err != nil {
		return bound{}, err
	}
	b := bound{step: s, source: sh.slots[found].source}
	b.by = "the catalog " + b.source.pinned()
	if before := sh.untrusted(found); len(before) > 0 {
		warning := fmt.Sprintf("%s was found behind a declared catalog that is not trusted and might have had it: %s",
			s.ID, strings.Join(declared(before), ", "))
		if o.Policy.RequireDigests {
			return bound{}, &UnresolvedError{
				NotFound:  &catalog.NotFoundError{ID: s.ID, Searched: []string{b.source.ref.Display()}},
				Untrusted: before,
			}
		}
		b.warn(warning)
	}
	return b, r.choose(&b, fn)
}

// find asks the trusted catalogs in order.
func (sh shelf) find(ctx context.Context, id catalog.FunctionID) (catalog.Function, int, error) {
	var resolvers []catalog.Resolver
	for i, sl := range sh.slots {
		if sl.source == nil {
			continue
		}
		fn, err := sl.source.resolver.Resolve(ctx, id)
		if err == nil {
			return fn, i, nil
		}
		var missing *catalog.NotFoundError
		if !errors.As(err, &missing) {
			return catalog.Function{}, 0, err
		}
		resolvers = append(resolvers, sl.source.resolver)
	}
	_, err := catalog.Chain(resolvers...).Resolve(ctx, id)
	var missing *catalog.NotFoundError
	if !errors.As(err, &missing) {
		return catalog.Function{}, 0, err
	}
	return catalog.Function{}, 0, &UnresolvedError{NotFound: missing, Untrusted: sh.untrusted(len(sh.slots))}
}

// untrusted lists the declared catalogs before slot n that were not read.
func (sh shelf) untrusted(n int) []target.CatalogRef {
	var refs []target.CatalogRef
	for _, sl := range sh.slots[:n] {
		if sl.source == nil {
			refs = append(refs, *sl.declared)
		}
	}
	return refs
}

func declared(refs []target.CatalogRef) []string {
	var out []string
	for _, r := range refs {
		out = append(out, r.Declared)
	}
	return out
}

// bindInline reads the runtime that a functionConfig names itself.
func (r *Renderer) bindInline(s target.Step) (bound, error) {
	rt, err := r.runtime(s.Inline.Kind)
	if err != nil {
		return bound{}, err
	}
	p, err := rt.Prepare(s.Inline.Spec, fnexec.Site{Dir: s.Dir, Work: s.Work, Inline: true, Config: s.Config})
	p.Needs.DeferFailure = p.Needs.DeferFailure || s.Inline.DeferFailure
	return bound{step: s, kind: rt.Kind(), by: s.Inline.Source + " at " + s.Where, prepared: p}, err
}

// choose takes the first runtime of a function that works here. Only ways that krmcat does
// not know and platforms that are not offered are passed over, and said so.
func (r *Renderer) choose(b *bound, fn catalog.Function) error {
	site := fnexec.Site{Dir: b.source.ref.Dir(), Work: b.step.Work, Config: b.step.Config}
	var passed []error
	for _, way := range fn.Runtimes {
		rt, err := r.runtime(way.Kind)
		if err == nil {
			b.prepared, err = rt.Prepare(way.Spec, site)
		}
		if err == nil && b.prepared.Needs.Literal == nil {
			err = b.source.reaches(b.prepared.Needs.From)
		}
		if err == nil {
			b.kind = rt.Kind()
			for _, p := range passed {
				b.warn(p.Error())
			}
			return nil
		}
		err = fmt.Errorf("%s, line %d: %w", b.source.ref.Display(), way.Line, err)
		var elsewhere interface{ Elsewhere() bool }
		var unknown *UnknownRuntimeError
		if !errors.As(err, &unknown) && (!errors.As(err, &elsewhere) || !elsewhere.Elsewhere()) {
			return err
		}
		passed = append(passed, err)
	}
	if len(passed) == 0 {
		return fmt.Errorf("%s, line %d: %s names no runtime", b.source.ref.Display(), fn.Line, fn.ID)
	}
	return all(passed)
}

// warn keeps a warning. They are reported at the end of a phase, in the order of the Steps.
func (b *bound) warn(text string) {
	if !slices.Contains(b.warnings, text) {
		b.warnings = append(b.warnings, text)
	}
}

// report tells the warnings of a Step from the n-th on.
func (r *Renderer) report(p Phase, b bound, n int) {
	for _, text := range b.warnings[n:] {
		r.event(Event{Phase: p, Text: text, Where: b.step.Where, Warning: true})
	}
}
