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
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
)

// searchPath is the catalogs for one layer, in the order in which they are searched.
type searchPath struct {
	entries   []searchEntry
	localOnly bool // as in trustedCatalogs
}

// searchEntry is a catalog of a search path: a declared one, or one that only a flag names.
type searchEntry struct {
	source   *source              // nil if it is not trusted
	declared *pipeline.CatalogRef // nil if only a flag names it
}

// trustedCatalogs are the catalogs that the user trusts, and where targets declare them.
type trustedCatalogs struct {
	renderer  *Renderer
	policy    verify.Policy
	trusted   []trustEntry
	sources   map[reference.Locator]*source
	official  *source // nil for none
	flagOnly  []*source
	declared  map[string]pipeline.CatalogRef // first declaration, by the entry that trusts it
	localOnly bool                           // nothing is fetched from other machines
}

// trustEntry says that the user trusts a catalog: by a flag, in the config file, or as the official
// catalog of the build.
type trustEntry struct {
	by      string // "--trusted-catalog", "/home/me/.config/krmcat/config.yaml:4"
	written string
	locator reference.Locator  // zero if pattern is set
	pattern *reference.Pattern // an entry of the config file with wildcards, or nil
	flag    bool               // given on the command line: searched even if not declared
}

// pinned reports whether the user, and not the target, gave the digest.
func (f trustEntry) pinned() bool {
	return f.locator.Digest != "" || f.pattern != nil && f.pattern.Pinned()
}

// name describes the entry in evidence.
func (f trustEntry) name() string {
	if f.locator.Scheme == reference.SchemeHTTPS { // its query may contain a secret
		return f.by + " " + f.locator.Display()
	}
	return f.by + " " + f.written
}

// spelling returns how the entry writes the place ref, without entries that mean another place
// there, such as those with a relative path.
func (f trustEntry) spelling(ref reference.Locator) []reference.Locator {
	as := ref
	as.Tag, as.Digest = f.locator.Tag, f.locator.Digest
	if f.pattern != nil || f.locator.Scheme == "" || !f.locator.Same(as) {
		return nil
	}
	return []reference.Locator{f.locator}
}

// trustedCatalogs reads the catalogs that the user trusts, and prepares those that are declared or
// given by a flag.
func (r *Renderer) trustedCatalogs(o Options, steps []pipeline.Step) (*trustedCatalogs, error) {
	catalogs := &trustedCatalogs{renderer: r, policy: o.Policy, sources: map[reference.Locator]*source{}, declared: map[string]pipeline.CatalogRef{}}
	if err := catalogs.trust(o); err != nil {
		return nil, err
	}
	for _, s := range steps {
		for _, ref := range s.Catalogs {
			if f, l, err := catalogs.match(ref); err == nil && f != nil {
				if _, before := catalogs.declared[f.written]; !before {
					catalogs.declared[f.written] = ref
				}
				src := catalogs.source(l, *f, f.pattern != nil || f.written == ref.Declared)
				src.declared = cmp.Or(src.declared, ref.Where)
			}
		}
	}
	for _, f := range catalogs.trusted {
		if _, used := catalogs.declared[f.written]; !used && f.flag {
			catalogs.flagOnly = append(catalogs.flagOnly, catalogs.source(f.locator, f, true))
		}
	}
	return catalogs, nil
}

// trust reads the entries from o.
func (catalogs *trustedCatalogs) trust(o Options) error {
	var errs []error
	for _, w := range o.Trusted {
		l, err := parseAt(w, o.WorkDir)
		if err != nil {
			errs = append(errs, fmt.Errorf("--trusted-catalog: %w", err))
			continue
		}
		catalogs.trusted = append(catalogs.trusted, trustEntry{by: "--trusted-catalog", written: w, locator: l, flag: true})
	}
	for _, c := range o.ConfigTrusted {
		f := trustEntry{by: c.Where, written: c.Pattern.String()}
		if c.Pattern.Exact() {
			l, err := reference.Parse(f.written)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", c.Where, err))
				continue
			}
			f.locator = l
		} else {
			f.pattern = &c.Pattern
		}
		catalogs.trusted = append(catalogs.trusted, f)
	}
	if o.Official != "" {
		l, err := parseAt(o.Official, o.WorkDir)
		if written, perr := reference.Parse(o.Official); perr == nil && written.Local() && !filepath.IsAbs(written.Name) {
			err = failure.Untrusted.Mark(fmt.Errorf("%s is a relative path: everybody who can write to the working directory would be trusted", o.Official))
		}
		if err != nil {
			return fmt.Errorf("the official catalog of this build: %w", err)
		}
		f := trustEntry{by: "this build's official catalog", written: o.Official, locator: l}
		catalogs.official = catalogs.renderer.newSource(l, f, catalogs.policy)
		catalogs.official.exact = true
	}
	return all(errs)
}

// match returns the entry that trusts a declared catalog, nil for none: one with the declared
// string, or with the same place. An entry may pin a catalog that is declared by tag, and is then
// preferred. Entries with another digest do not match.
func (catalogs *trustedCatalogs) match(ref pipeline.CatalogRef) (*trustEntry, reference.Locator, error) {
	l, err := parseAt(ref.Declared, ref.Dir)
	if err != nil {
		return nil, l, fmt.Errorf("%s: %w", ref.Where, err)
	}
	var best *trustEntry
	for i, f := range catalogs.trusted {
		same := f.trusts(ref.Declared, l)
		clash := f.locator.Digest != "" && l.Digest != "" && f.locator.Digest != l.Digest
		if !same || clash {
			continue
		}
		if best == nil || best.locator.Digest == "" && f.locator.Digest != "" {
			best = &catalogs.trusted[i]
		}
	}
	if best != nil && l.Digest == "" {
		l.Digest = best.locator.Digest
	}
	return best, l, nil
}

// trusts reports whether the entry trusts a declared place.
func (f trustEntry) trusts(declared string, l reference.Locator) bool {
	if f.pattern != nil {
		return f.pattern.Match(l)
	}
	return f.repeats(declared) || f.locator.Same(l) || sameContent(f.locator, l)
}

// repeats reports whether the entry is the declared string, or adds only a digest to it.
func (f trustEntry) repeats(declared string) bool {
	return f.written == declared || f.locator.Digest != "" && strings.TrimSuffix(f.written, "@"+string(f.locator.Digest)) == declared
}

// sameContent reports whether both have the same digest and the same place. Their tags may differ,
// because the digest decides.
func sameContent(a, b reference.Locator) bool {
	a.Tag = b.Tag
	return a.Digest != "" && a.Digest == b.Digest && a.Same(b)
}

func (catalogs *trustedCatalogs) source(l reference.Locator, f trustEntry, exact bool) *source {
	if s, ok := catalogs.sources[l]; ok {
		return s
	}
	s := catalogs.renderer.newSource(l, f, catalogs.policy)
	s.exact = exact
	catalogs.sources[l] = s
	return s
}

// inOtherLayers returns the trusted catalogs that only other layers declare.
func (catalogs *trustedCatalogs) inOtherLayers(s pipeline.Step) []pipeline.CatalogRef {
	var refs []pipeline.CatalogRef
	for _, f := range catalogs.trusted {
		ref, ok := catalogs.declared[f.written]
		own := func(r pipeline.CatalogRef) bool {
			m, _, err := catalogs.match(r)
			return err == nil && m != nil && m.written == f.written
		}
		if ok && !slices.ContainsFunc(s.Catalogs, own) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// searchPath returns the catalogs to search for a Step: the official catalog, the catalogs of its
// layer in order, then those that only a flag names (KEP-2906, "Determining the Function to
// Execute").
func (catalogs *trustedCatalogs) searchPath(s pipeline.Step) (searchPath, error) {
	out := searchPath{localOnly: catalogs.localOnly}
	var errs []error
	for i := range s.Catalogs {
		ref := &s.Catalogs[i]
		f, l, err := catalogs.match(*ref)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		entry := searchEntry{declared: ref}
		if f != nil {
			entry.source = catalogs.sources[l]
			if entry.source == nil {
				return out, fmt.Errorf("the catalog %s was not prepared", l)
			}
		}
		out.entries = append(out.entries, entry)
	}
	for _, src := range catalogs.flagOnly {
		out.entries = append(out.entries, searchEntry{source: src})
	}
	if catalogs.official != nil {
		out.entries = append([]searchEntry{{source: catalogs.official}}, out.entries...)
	}
	return out, all(errs)
}

// errNotLocal means that a catalog on another machine would have to be fetched.
var errNotLocal = errors.New("its catalog is not on this machine")

// find searches the trusted catalogs in order. It returns the index of the one with the function,
// or with errNotLocal that of the one that would have to be fetched.
func (sp searchPath) find(ctx context.Context, q catalog.Query) (catalog.Function, int, error) {
	var resolvers []catalog.Resolver
	for i, entry := range sp.entries {
		if entry.source == nil {
			continue
		}
		if sp.localOnly && !entry.source.ref.Local() {
			return catalog.Function{}, i, cmp.Or(entry.source.foreseen(), errNotLocal)
		}
		fn, err := entry.source.resolver.Resolve(ctx, q)
		if err == nil {
			return fn, i, nil
		}
		var missing *catalog.NotFoundError
		if !errors.As(err, &missing) {
			return catalog.Function{}, 0, err
		}
		resolvers = append(resolvers, entry.source.resolver)
	}
	_, err := catalog.Chain(resolvers...).Resolve(ctx, q)
	var missing *catalog.NotFoundError
	if !errors.As(err, &missing) {
		return catalog.Function{}, 0, err
	}
	return catalog.Function{}, 0, &UnresolvedError{NotFound: missing, Untrusted: sp.untrusted(len(sp.entries))}
}

// untrusted returns the declared catalogs before entry n that were not read because they are not
// trusted.
func (sp searchPath) untrusted(n int) []pipeline.CatalogRef {
	var refs []pipeline.CatalogRef
	for _, entry := range sp.entries[:n] {
		if entry.source == nil {
			refs = append(refs, *entry.declared)
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
