package catalog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/shared"
)

// Query says which function is wanted: by the id of its functionConfig, or by a name.
type Query struct {
	Config FunctionID // of the functionConfig
	// Named is the name of an entry, or GROUP/KIND[/VERSION]. The functionConfig may then be of any
	// kind. "" chooses by Config. See CheckNamed.
	Named string
	// Image is the image that would run, with its tag. Only a function that replaces it is found. ""
	// chooses by Named or Config.
	Image string
}

// String describes the query in messages.
func (q Query) String() string {
	switch {
	case q.Image != "":
		return "a function that replaces the image " + plain(q.Image)
	case q.Named == "":
		return "the function " + plain(q.Config.String())
	case strings.Contains(q.Named, "/"):
		return "the function " + plain(q.Named)
	}
	return "a function named " + plain(q.Named)
}

// Resolver finds the function for a query. The error is a *NotFoundError if there is none, an
// *AmbiguousError if there are several, and any other if the search failed.
type Resolver interface {
	Resolve(ctx context.Context, q Query) (Function, error)
}

type groupKind struct{ group, kind string }

// index finds a function by its id without a search.
type index struct {
	byID     map[FunctionID]int
	others   map[FunctionID][]string // names of functions with the same id, beside the first
	versions map[groupKind][]string
}

func newIndex(functions []Function) *index {
	x := &index{
		byID:     make(map[FunctionID]int, len(functions)),
		versions: make(map[groupKind][]string, len(functions)),
	}
	for i := range functions {
		id := functions[i].ID
		if first, ok := x.byID[id]; ok { // the first entry wins: KEP-2906. But names tell entries apart
			if name := functions[i].Called(); name != functions[first].Called() {
				x.other(id, name)
			}
			continue
		}
		x.byID[id] = i
		key := groupKind{id.Group, id.Kind}
		x.versions[key] = append(x.versions[key], id.Version)
	}
	return x
}

func (x *index) other(id FunctionID, name string) {
	if x.others == nil {
		x.others = make(map[FunctionID][]string)
	}
	x.others[id] = addName(x.others[id], name)
}

// maxNames limits the names that an error lists, and so the work of finding different ones.
const maxNames = 20

// addName adds a name to different ones, if there is room.
func addName(names []string, name string) []string {
	if len(names) >= maxNames || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// Resolve implements Resolver: the first entry that fits wins (KEP-2906), unless entries that fit
// have different names.
func (c *Catalog) Resolve(_ context.Context, q Query) (Function, error) {
	switch {
	case q.Image != "":
		return c.byImage(q)
	case q.Named != "":
		return c.byName(q)
	}
	x := c.index
	if x == nil {
		x = newIndex(c.Functions) // a literal may change: its index is not kept
	}
	i, ok := x.byID[q.Config]
	if !ok {
		return Function{}, c.missing(q, slices.Clone(x.versions[groupKind{q.Config.Group, q.Config.Kind}]))
	}
	if others := x.others[q.Config]; len(others) > 0 {
		return Function{}, &AmbiguousError{Query: q, Catalog: c.called(), Names: append([]string{c.Functions[i].Called()}, others...)}
	}
	return c.Functions[i], nil
}

// Named returns the functions that have a name, and the functions of GROUP/KIND[/VERSION], in
// order. A name that an entry has written counts before those that entries have by default.
func (c *Catalog) Named(text string) ([]Function, error) {
	by, err := parseNamed(text)
	if err != nil {
		return nil, err
	}
	var fit []Function
	for _, written := range []bool{true, false} {
		for i := range c.Functions {
			if by.fits(&c.Functions[i], written) {
				fit = append(fit, c.Functions[i])
			}
		}
		if len(fit) > 0 {
			break
		}
	}
	return fit, nil
}

// byName finds a function by its name. Of its versions, the one for the functionConfig is chosen.
// If it has no versions for the kind of the functionConfig, each can be used with any, and the
// first is chosen.
func (c *Catalog) byName(q Query) (Function, error) {
	by, err := parseNamed(q.Named)
	if err != nil {
		return Function{}, err
	}
	fit, err := c.Named(q.Named)
	if err != nil || len(fit) == 0 {
		return Function{}, cmp.Or(err, error(c.missing(q, c.versions(by.kind))))
	}
	return c.oneOf(fit, q, by)
}

// oneOf chooses from the functions that have a name.
func (c *Catalog) oneOf(fit []Function, q Query, by named) (Function, error) {
	own := slices.DeleteFunc(slices.Clone(fit), func(f Function) bool {
		return f.ID.Group != q.Config.Group || f.ID.Kind != q.Config.Kind
	})
	if len(own) > 0 {
		fit = own
	}
	var distinct, versions []string
	for i := range fit {
		distinct = addName(distinct, fit[i].label(by))
		versions = append(versions, fit[i].ID.Version)
	}
	if len(distinct) > 1 {
		return Function{}, &AmbiguousError{Query: q, Catalog: c.called(), Names: distinct}
	}
	if len(own) == 0 || by.kind.Version != "" {
		return fit[0], nil
	}
	i := slices.IndexFunc(fit, func(f Function) bool { return f.ID == q.Config })
	if i < 0 {
		return Function{}, c.missing(q, versions)
	}
	return fit[i], nil
}

// versions lists the versions of a kind.
func (c *Catalog) versions(kind FunctionID) []string {
	var out []string
	seen := make(map[string]bool)
	for i := range c.Functions {
		id := c.Functions[i].ID
		if id.Group == kind.Group && id.Kind == kind.Kind && !seen[id.Version] {
			seen[id.Version] = true
			out = append(out, id.Version)
		}
	}
	return out
}

// label tells a function from others that have the same name, or the same kind.
func (f *Function) label(by named) string {
	if by.name != "" {
		return f.ID.Group + "/" + f.ID.Kind
	}
	return f.Called()
}

// called returns the name of the catalog in errors.
func (c *Catalog) called() string {
	switch {
	case c.Source != "":
		return c.Source
	case c.Name != "":
		return c.Name
	}
	return "a catalog without a name"
}

// Chain asks one resolver after the other. The first match wins. An error that is not a
// *NotFoundError ends the search: the resolver that failed might have the function.
func Chain(rs ...Resolver) Resolver { return chain(slices.Clone(rs)) }

type chain []Resolver

// Resolve implements Resolver.
func (rs chain) Resolve(ctx context.Context, q Query) (Function, error) {
	missing := &NotFoundError{Query: q}
	for _, r := range rs {
		f, err := r.Resolve(ctx, q)
		if err == nil {
			return f, nil
		}
		var none *NotFoundError
		if !errors.As(err, &none) {
			return Function{}, err
		}
		missing.add(none)
	}
	return Function{}, missing
}

// Lazy loads a catalog on first use, once. Every caller gets the error of a failed load. A load
// that failed because the context of its caller ended does not count: the next caller loads again.
// It is safe for concurrent use. Callers wait for the load, or until their own context ends.
func Lazy(load func(context.Context) (*Catalog, error)) Resolver {
	return &lazy{load: load}
}

type lazy struct {
	load  func(context.Context) (*Catalog, error)
	loads shared.Calls[struct{}, *Catalog]
}

// Resolve implements Resolver.
func (l *lazy) Resolve(ctx context.Context, q Query) (Function, error) {
	c, err := l.loads.Do(ctx, struct{}{}, func() (*Catalog, error) {
		c, err := l.load(ctx)
		if err == nil && c == nil {
			err = errors.New("loading a catalog gave nothing")
		}
		return c, err
	})
	if err != nil {
		return Function{}, err
	}
	return c.Resolve(ctx, q)
}
