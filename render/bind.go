package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// bound is a Step whose function was found.
type bound struct {
	step     pipeline.Step
	kind     string // of the runtime
	by       string // what names the runtime: a catalog, or the functionConfig
	source   *source
	function catalog.Function // as the source has it; the zero value if there is no source
	schema   *source          // source of the schema of a Step that names its own runtime
	prepared fnexec.Prepared
	grant    sandbox.Grant // the zero value before the decision, and if it was refused
	warnings []string
	replaced string // the image that would have run in place of the catalog's function, "" for none
	unbound  error  // why it was not found; the fields above may then be zero
}

// UnresolvedError reports that no trusted catalog has a function. It names declared catalogs that
// the user does not trust, because they may have it.
type UnresolvedError struct {
	NotFound  *catalog.NotFoundError
	Untrusted []pipeline.CatalogRef
	// Elsewhere are trusted catalogs that only other layers declare. By KEP-2906, a layer uses
	// only its own.
	Elsewhere []pipeline.CatalogRef
	// Schema means that only the function's schema is needed, because an override contains a list.
	Schema bool
}

// Error names the function and the catalogs.
func (e *UnresolvedError) Error() string {
	msg := e.NotFound.Error()
	if e.Schema {
		msg = fmt.Sprintf("an override contains a list, and the schema of %s must say how to merge it (an item `$patch: replace` replaces the list)", e.NotFound.Query.Config)
	}
	if len(e.NotFound.Searched) == 0 && len(e.Untrusted) == 0 && len(e.Elsewhere) == 0 {
		msg += " (kustomize's legacy plugins are not supported)"
	}
	for _, c := range e.Untrusted {
		if missing := noScheme(c); missing != nil {
			msg += fmt.Sprintf("; the catalog at %s is not trusted and was not read: %v", c.Where, missing)
			continue
		}
		msg += fmt.Sprintf("; the catalog %s (%s) is not trusted and was not read", c.Declared, c.Where)
	}
	for _, c := range e.Elsewhere {
		msg += fmt.Sprintf("; the catalog %s is trusted but declared in another layer (%s): a layer uses only its own catalogs", c.Declared, c.Where)
	}
	return msg
}

// Unwrap returns the NotFoundError, and an UntrustedError for each catalog that was not read.
func (e *UnresolvedError) Unwrap() []error {
	errs := []error{e.NotFound}
	for _, c := range e.Untrusted {
		if missing := noScheme(c); missing != nil {
			errs = append(errs, &verify.UntrustedError{Ref: c.Declared, Reasons: verify.Because(missing.Error()), Write: missing.Mended() + " at " + c.Where})
			continue
		}
		errs = append(errs, &verify.UntrustedError{
			Ref: c.Declared, Reasons: verify.Because("it is declared at " + c.Where + " and no flag trusts it"),
			Flag: "--trusted-catalog " + failure.ShellWord(c.Declared),
		})
	}
	return errs
}

// noScheme returns the error about a declared catalog whose scheme is missing, nil for any other.
func noScheme(c pipeline.CatalogRef) *registry.SchemeError {
	l, err := parseAt(c.Declared, c.Dir)
	if err != nil {
		return nil //nolint:nilerr // the catalog is refused in any case, and this error is no better reason
	}
	return registry.MissingScheme(c.Declared, l)
}

// bind finds the function of every Step. Catalogs that no Step needs are not fetched. In the local
// round, a Step that needs a remote catalog waits.
func (a *approval) bind(ctx context.Context) {
	var g errgroup.Group
	g.SetLimit(parallel)
	for i := range a.steps {
		t := &a.steps[i]
		if t.progress != asked {
			continue
		}
		g.Go(func() error {
			b, err := a.bindStep(ctx, t)
			if errors.Is(err, errNotLocal) {
				t.grant = b.grant
				return nil
			}
			t.bound, t.progress = b, found
			t.unbound = stepError(t.step, err)
			return nil
		})
	}
	_ = g.Wait()
	a.catalogs.reportAudits()
}

// parallel is the maximum number of concurrent requests.
const parallel = 8

// bindStep finds the function of one Step and reads its runtime.
func (a *approval) bindStep(ctx context.Context, t *trusted) (bound, error) {
	s := t.step
	if s.Inline == nil {
		b, fn, err := a.locate(ctx, a.options, s, a.catalogs)
		if err == nil {
			err = a.choose(&b, fn)
		}
		return b, err
	}
	instead, found, err := a.bindInstead(ctx, s)
	if found || err != nil {
		return instead, err
	}
	b, err := a.bindOwn(ctx, t)
	b.warnings = append(instead.warnings, b.warnings...)
	return b, err
}

// bindOwn reads the runtime that the config of a Step names itself.
func (a *approval) bindOwn(ctx context.Context, t *trusted) (bound, error) {
	s := t.step
	inline, err := a.bindInline(s)
	if err != nil || !s.SchemaMatters() {
		return inline, err
	}
	inline.grant = t.grant // of the first round
	if err := a.grantStep(&inline); err != nil {
		return inline, err // the schema of a refused function is not fetched
	}
	b, _, err := a.locate(ctx, a.options, s, a.catalogs)
	if errors.Is(err, errNotLocal) {
		err = cmp.Or(foresee(a.options, inline), err)
	}
	if err != nil {
		return inline, err
	}
	merged, err := a.bindInline(b.step)
	merged.schema, merged.warnings = b.schema, b.warnings
	if reflect.DeepEqual(merged.prepared.Needs.Request, inline.prepared.Needs.Request) && merged.prepared.Needs.From == inline.prepared.Needs.From {
		merged.grant = inline.grant // merging did not change what the function requests
	}
	return merged, err
}

// locate finds the function of a Step in the catalogs, and merges its config by the function's
// schema. For a Step that names its own runtime, it only looks up the schema: pinning a runtime
// must not change the merged config.
func (r *Renderer) locate(ctx context.Context, o Options, s pipeline.Step, catalogs *trustedCatalogs) (bound, catalog.Function, error) {
	b := bound{step: s}
	sp, err := catalogs.searchPath(s)
	if err != nil {
		return b, catalog.Function{}, err
	}
	query := s.Query()
	byType := query == catalog.Query{Config: s.ID} // otherwise it is not known yet which function is meant
	fn, found, err := sp.find(ctx, query)
	if errors.Is(err, errNotLocal) && s.Inline == nil && byType {
		if denied := o.Policy.ForeseeFunction(policyFunction(s.ID), s.ID.String()); denied != nil {
			return b, fn, denied
		}
	}
	if errors.Is(err, errNotLocal) && s.Inline == nil && o.Policy.RequireDigests {
		// Refused, whether it is found in a later catalog or not.
		if before := sp.untrusted(found); len(before) > 0 {
			return b, fn, &UnresolvedError{NotFound: &catalog.NotFoundError{Query: query}, Untrusted: before}
		}
	}
	var unresolved *UnresolvedError
	switch missing := errors.As(err, &unresolved); {
	case missing && s.Inline != nil && len(unresolved.Untrusted) == 0: // its catalogs need not have it
	case missing && s.Inline != nil:
		unresolved.Schema = true
		return b, fn, err
	case missing:
		unresolved.Elsewhere = catalogs.inOtherLayers(s)
		return b, fn, err
	case err != nil:
		return b, fn, err
	case s.Inline != nil:
		b.schema = sp.entries[found].source
		if before := sp.untrusted(found); len(before) > 0 {
			b.warn(fmt.Sprintf("the schema of %s was found behind a declared catalog that is not trusted and might have had it: %s",
				s.ID, strings.Join(declared(before), ", ")))
		}
	default:
		b.source, b.function = sp.entries[found].source, fn
		b.by = b.source.description()
		if before := sp.untrusted(found); len(before) > 0 {
			if o.Policy.RequireDigests {
				return b, fn, &UnresolvedError{
					NotFound:  &catalog.NotFoundError{Query: query, Searched: []string{b.source.ref.Display()}},
					Untrusted: before,
				}
			}
			b.warn(fmt.Sprintf("%s was found behind a declared catalog that is not trusted and might have had it: %s",
				wanted(s), strings.Join(declared(before), ", ")))
		}
	}
	b.step, err = s.WithSchema(fn.Schema)
	return b, fn, err
}

// wanted names the function of a Step in messages.
func wanted(s pipeline.Step) string {
	if q := s.Query(); q != (catalog.Query{Config: s.ID}) {
		return q.String()
	}
	return s.ID.String()
}

// bindInline reads the runtime that a functionConfig names itself.
func (r *Renderer) bindInline(s pipeline.Step) (bound, error) {
	by := s.Inline.Source + " at " + s.Inline.Where
	b := bound{step: s, kind: s.Inline.Kind, by: by}
	rt, err := r.runtime(s.Inline.Kind)
	var p fnexec.Prepared
	if err == nil {
		p, err = rt.Prepare(s.Inline.Spec, fnexec.Site{Dir: s.Dir, Work: s.Work, Inline: true, Config: s.Config})
	}
	if err != nil && s.Inline.Where != s.Where {
		err = fmt.Errorf("%s: %w", by, err) // from an override, in another file than the Step
	}
	p.Needs.DeferFailure = p.Needs.DeferFailure || s.Inline.DeferFailure
	b.prepared = p
	return b, err
}

// choose selects the first runtime of a function that works on this machine. Unknown runtimes and
// missing platforms are skipped with a warning.
func (r *Renderer) choose(b *bound, fn catalog.Function) error {
	site := fnexec.Site{Dir: b.source.ref.Dir(), Work: b.step.Work, Config: b.step.Config}
	var passed []error
	for _, entry := range fn.Runtimes {
		b.kind = entry.Kind
		rt, err := r.runtime(entry.Kind)
		if err == nil {
			b.prepared, err = rt.Prepare(entry.Spec, site)
		}
		if err == nil && b.prepared.Needs.Literal == nil {
			err = b.source.mayName(b.prepared.Needs.From)
		}
		if err == nil {
			for _, p := range passed {
				b.warn(p.Error())
			}
			b.deferFailure()
			return nil
		}
		err = atLine(b.source.ref.Display(), entry.Line, err)
		var elsewhere interface{ Elsewhere() bool }
		var unknown *UnknownRuntimeError
		if !errors.As(err, &unknown) && (!errors.As(err, &elsewhere) || !elsewhere.Elsewhere()) {
			return err
		}
		passed = append(passed, err)
	}
	if len(passed) == 0 {
		return fmt.Errorf("%s:%d: %s names no runtime", b.source.ref.Display(), fn.Line, fn.ID)
	}
	return all(passed)
}

// deferFailure adds what the functionConfig says beside the name of a function.
func (b *bound) deferFailure() {
	if n := b.step.Named; n != nil && n.DeferFailure {
		b.prepared.Needs.DeferFailure = true
	}
}

// atLine adds a position in the catalog to an error of a runtime's spec: that of the spec, if it
// has a line.
func atLine(file string, line int, err error) error {
	var spec *fnexec.SpecError
	if errors.As(err, &spec) && spec.Line > 0 {
		return fmt.Errorf("%s:%d: %w", file, spec.Line, &fnexec.SpecError{Field: spec.Field, Msg: spec.Msg, Err: spec.Err})
	}
	return fmt.Errorf("%s:%d: %w", file, line, err)
}

// warn adds a warning. Warnings are reported at the end of a phase, in the order of the Steps.
func (b *bound) warn(text string) {
	if !slices.Contains(b.warnings, text) {
		b.warnings = append(b.warnings, text)
	}
}

// report reports the warnings of a Step from the n-th on.
func (r *Renderer) report(p Phase, b bound, n int) {
	for _, text := range b.warnings[n:] {
		r.event(Event{Phase: p, Text: text, Where: b.step.Where, Warning: true})
	}
}
