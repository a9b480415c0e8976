package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/internal/refusal"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
)

// shelf is the catalogs of one layer, in the order they are searched.
type shelf struct {
	slots []slot
	stay  bool // as that of the library
}

// slot is a declared catalog, or one that only a flag names.
type slot struct {
	source   *source              // nil where it is not trusted
	declared *pipeline.CatalogRef // nil where only a flag names it
}

// library knows which catalogs are trusted, and by whom.
type library struct {
	renderer *Renderer
	policy   verify.Policy
	flags    []trustFlag
	sources  map[reference.Locator]*source
	official *source // nil for none
	flagOnly []*source
	declared map[string]pipeline.CatalogRef // by the flag that trusts it: the first declaration
	stay     bool                           // nothing is fetched from beyond this machine
}

// trustFlag is a catalog that the user trusts: by a flag, or in the config file, or because
// it is built in.
type trustFlag struct {
	by      string // "--trusted-catalog", "/home/me/.config/krmcat/config.yaml:4"
	written string
	locator reference.Locator  // "" where wide is set
	wide    *reference.Pattern // a wildcard of the config file
	flag    bool               // of the command line: searched although nothing declares it
}

// pinned tells whether the user wrote the digest, and not the target.
func (f trustFlag) pinned() bool {
	return f.locator.Digest != "" || f.wide != nil && f.wide.Pinned()
}

// name is what evidence calls it.
func (f trustFlag) name() string {
	if f.locator.Scheme == reference.SchemeHTTPS { // its query may be a secret
		return f.by + " " + f.locator.Display()
	}
	return f.by + " " + f.written
}

// spelling is how the flag writes the place that it trusts at ref. Words that mean another
// place there, as those of a relative path do, are none.
func (f trustFlag) spelling(ref reference.Locator) []reference.Locator {
	as := ref
	as.Tag, as.Digest = f.locator.Tag, f.locator.Digest
	if f.wide != nil || f.locator.Scheme == "" || !f.locator.Same(as) {
		return nil
	}
	return []reference.Locator{f.locator}
}

// library reads what is trusted, and prepares every catalog that is declared somewhere.
func (r *Renderer) library(o Options, steps []pipeline.Step) (*library, error) {
	lib := &library{renderer: r, policy: o.Policy, sources: map[reference.Locator]*source{}, declared: map[string]pipeline.CatalogRef{}}
	if err := lib.trust(o); err != nil {
		return nil, err
	}
	for _, s := range steps {
		for _, ref := range s.Catalogs {
			if f, l, err := lib.match(ref); err == nil && f != nil {
				if _, before := lib.declared[f.written]; !before {
					lib.declared[f.written] = ref
				}
				lib.source(l, *f, f.wide != nil || f.written == ref.Declared)
			}
		}
	}
	for _, f := range lib.flags {
		if _, used := lib.declared[f.written]; !used && f.flag {
			lib.flagOnly = append(lib.flagOnly, lib.source(f.locator, f, true))
		}
	}
	return lib, nil
}

// trust reads what the user trusts.
func (lib *library) trust(o Options) error {
	var errs []error
	for _, w := range o.Trusted {
		l, err := parseAt(w, o.WorkDir)
		if err != nil {
			errs = append(errs, fmt.Errorf("--trusted-catalog: %w", err))
			continue
		}
		lib.flags = append(lib.flags, trustFlag{by: "--trusted-catalog", written: w, locator: l, flag: true})
	}
	for _, c := range o.Standing {
		f := trustFlag{by: c.Where, written: c.Pattern.String()}
		if c.Pattern.Exact() {
			l, err := reference.Parse(f.written)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", c.Where, err))
				continue
			}
			f.locator = l
		} else {
			f.wide = &c.Pattern
		}
		lib.flags = append(lib.flags, f)
	}
	if o.Official != "" {
		l, err := parseAt(o.Official, o.WorkDir)
		if written, perr := reference.Parse(o.Official); perr == nil && written.Local() && !filepath.IsAbs(written.Name) {
			err = refusal.Content(fmt.Errorf("%s is a relative path: whoever can write to the working directory would be trusted", o.Official))
		}
		if err != nil {
			return fmt.Errorf("the official catalog of this build: %w", err)
		}
		f := trustFlag{by: "this build's official catalog", written: o.Official, locator: l}
		lib.official = lib.renderer.newSource(l, f, lib.policy)
		lib.official.byWord = true
	}
	return all(errs)
}

// match finds the flag that trusts a declared catalog: by the very string, or by the same
// place. A flag may pin what is declared by tag, and one that does is preferred; two
// different pins do not match.
func (lib *library) match(ref pipeline.CatalogRef) (*trustFlag, reference.Locator, error) {
	l, err := parseAt(ref.Declared, ref.Dir)
	if err != nil {
		return nil, l, fmt.Errorf("%s: %w", ref.Where, err)
	}
	var best *trustFlag
	for i, f := range lib.flags {
		same := f.trusts(ref.Declared, l)
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

// trusts tells whether a declared place is what is trusted.
func (f trustFlag) trusts(declared string, l reference.Locator) bool {
	if f.wide != nil {
		return f.wide.Match(l)
	}
	return f.says(declared) || f.locator.Same(l) || sameContent(f.locator, l)
}

// says tells whether a flag repeats a declaration to the word, but for a digest that it adds.
func (f trustFlag) says(declared string) bool {
	return f.written == declared || f.locator.Digest != "" && strings.TrimSuffix(f.written, "@"+string(f.locator.Digest)) == declared
}

// sameContent tells two pins of one digest at one place, whatever their tags: the digest
// decides.
func sameContent(a, b reference.Locator) bool {
	a.Tag = b.Tag
	return a.Digest != "" && a.Digest == b.Digest && a.Same(b)
}

func (lib *library) source(l reference.Locator, f trustFlag, byWord bool) *source {
	if s, ok := lib.sources[l]; ok {
		return s
	}
	s := lib.renderer.newSource(l, f, lib.policy)
	s.byWord = byWord
	lib.sources[l] = s
	return s
}

// elsewhere lists the trusted catalogs that only other layers declare.
func (lib *library) elsewhere(s pipeline.Step) []pipeline.CatalogRef {
	var refs []pipeline.CatalogRef
	for _, f := range lib.flags {
		ref, ok := lib.declared[f.written]
		own := func(r pipeline.CatalogRef) bool {
			m, _, err := lib.match(r)
			return err == nil && m != nil && m.written == f.written
		}
		if ok && !slices.ContainsFunc(s.Catalogs, own) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// shelf lists what is searched for a Step: the official catalog, the catalogs of its layer
// in order, then those that only a flag names (KEP-2906, "Determining the Function to
// Execute").
func (lib *library) shelf(s pipeline.Step) (shelf, error) {
	out := shelf{stay: lib.stay}
	var errs []error
	for i := range s.Catalogs {
		ref := &s.Catalogs[i]
		f, l, err := lib.match(*ref)
		if err != nil {
			errs = append(errs, err)
			continue
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
	if lib.official != nil {
		out.slots = append([]slot{{source: lib.official}}, out.slots...)
	}
	return out, all(errs)
}

// errElsewhere says that a catalog would have to be asked for that is not on this machine.
var errElsewhere = errors.New("its catalog is not on this machine")

// find asks the trusted catalogs in order, and says which one has the function, or is
// elsewhere.
func (sh shelf) find(ctx context.Context, id catalog.FunctionID) (catalog.Function, int, error) {
	var resolvers []catalog.Resolver
	for i, sl := range sh.slots {
		if sl.source == nil {
			continue
		}
		if sh.stay && !sl.source.ref.Local() {
			return catalog.Function{}, i, cmp.Or(sl.source.foreseen(), errElsewhere)
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
func (sh shelf) untrusted(n int) []pipeline.CatalogRef {
	var refs []pipeline.CatalogRef
	for _, sl := range sh.slots[:n] {
		if sl.source == nil {
			refs = append(refs, *sl.declared)
		}
	}
	return refs
}

func declared(refs []pipeline.CatalogRef) []string {
	var out []string
	for _, r := range refs {
		out = append(out, r.Declared)
	}
	return out
}
