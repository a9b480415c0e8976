package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/shared"
	"github.com/krmcat/krmcat/internal/spell"
)

// Resolver finds the function for an id. The error is a *NotFoundError if there is none, and any
// other if the search failed.
type Resolver interface {
	Resolve(ctx context.Context, id FunctionID) (Function, error)
}

// NotFoundError reports that no catalog has a function.
type NotFoundError struct {
	ID       FunctionID
	Searched []string // the catalogs, in order
	Versions []string // existing versions of the same group and kind, in order

	in []*Catalog
}

// Error implements error.
func (e *NotFoundError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no catalog has the function %s", plain(e.ID.String()))
	if len(e.Searched) > 0 {
		fmt.Fprintf(&b, ", searched %s", strings.Join(e.Searched, ", "))
	}
	if len(e.Versions) > 0 {
		fmt.Fprintf(&b, "; it exists in version %s", strings.Join(e.Versions, ", "))
	} else {
		b.WriteString(e.nearest())
	}
	return b.String()
}

// nearest names a kind of the same group with a similar spelling, or else a group with a similar
// spelling that has the kind. It looks through the searched catalogs when it is called.
func (e *NotFoundError) nearest() string {
	var kinds, groups []string
	for _, c := range e.in {
		for i := range c.Functions {
			switch id := c.Functions[i].ID; {
			case id.Group == e.ID.Group:
				kinds = append(kinds, id.Kind)
			case id.Kind == e.ID.Kind:
				groups = append(groups, id.Group)
			}
		}
	}
	if kind := spell.Nearest(e.ID.Kind, kinds); kind != "" {
		return "; there is a kind " + kind + " in that group"
	}
	if group := spell.Nearest(e.ID.Group, groups); group != "" {
		return "; there is a kind " + e.ID.Kind + " in the group " + group
	}
	return ""
}

type groupKind struct{ group, kind string }

// index finds a function by its id without a search.
type index struct {
	byID     map[FunctionID]int
	versions map[groupKind][]string
}

func newIndex(functions []Function) *index {
	x := &index{
		byID:     make(map[FunctionID]int, len(functions)),
		versions: make(map[groupKind][]string, len(functions)),
	}
	for i := range functions {
		id := functions[i].ID
		if _, ok := x.byID[id]; ok {
			continue // the first entry wins: KEP-2906
		}
		x.byID[id] = i
		key := groupKind{id.Group, id.Kind}
		x.versions[key] = append(x.versions[key], id.Version)
	}
	return x
}

// Resolve implements Resolver: the first entry with the id wins.
func (c *Catalog) Resolve(_ context.Context, id FunctionID) (Function, error) {
	x := c.index
	if x == nil {
		x = newIndex(c.Functions) // a literal may change: its index is not kept
	}
	if i, ok := x.byID[id]; ok {
		return c.Functions[i], nil
	}
	return Function{}, &NotFoundError{
		ID:       id,
		Searched: []string{c.called()},
		Versions: slices.Clone(x.versions[groupKind{id.Group, id.Kind}]),
		in:       []*Catalog{c},
	}
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
func (rs chain) Resolve(ctx context.Context, id FunctionID) (Function, error) {
	missing := &NotFoundError{ID: id}
	for _, r := range rs {
		f, err := r.Resolve(ctx, id)
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

func (e *NotFoundError) add(o *NotFoundError) {
	e.Searched = append(e.Searched, o.Searched...)
	e.in = append(e.in, o.in...)
	for _, v := range o.Versions {
		if !slices.Contains(e.Versions, v) {
			e.Versions = append(e.Versions, v)
		}
	}
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
func (l *lazy) Resolve(ctx context.Context, id FunctionID) (Function, error) {
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
	return c.Resolve(ctx, id)
}
