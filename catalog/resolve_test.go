package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/catalog"
)

// load decodes a catalog of functions g/VERSION/KIND, each given as KIND/VERSION.
func load(t testing.TB, name string, functions ...string) *catalog.Catalog {
	t.Helper()
	var b strings.Builder
	b.WriteString(head + "kind: Catalog\nspec:\n  krmFunctions:\n")
	for _, f := range functions {
		kind, version, _ := strings.Cut(f, "/")
		fmt.Fprintf(&b, "  - {group: g, names: {kind: %s}, publisher: %s, versions: [name: %s]}\n", kind, name, version)
	}
	c, err := catalog.Decode(name, []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func id(kind, version string) catalog.FunctionID {
	return catalog.FunctionID{Group: "g", Version: version, Kind: kind}
}

// of asks for the function of a functionConfig.
func of(id catalog.FunctionID) catalog.Query { return catalog.Query{Config: id} }

func TestResolveFirstWins(t *testing.T) {
	t.Parallel()
	c := load(t, "c", "A/v1", "B/v1", "A/v1", "A/v2")
	f, err := c.Resolve(t.Context(), of(id("A", "v1")))
	if err != nil || f.Line != 6-1 {
		t.Errorf("want the entry of line 5, got %d, %v", f.Line, err)
	}
}

func TestResolveLiteral(t *testing.T) {
	t.Parallel()
	c := &catalog.Catalog{Functions: []catalog.Function{{ID: id("A", "v1"), Line: 1}, {ID: id("A", "v1"), Line: 2}}}
	if f, err := c.Resolve(t.Context(), of(id("A", "v1"))); err != nil || f.Line != 1 {
		t.Errorf("got %d, %v", f.Line, err)
	}
	if _, err := c.Resolve(t.Context(), of(id("A", "v2"))); err == nil ||
		err.Error() != "no catalog has the function g/v2/A, searched a catalog without a name; it exists in version v1" {
		t.Error(err)
	}
}

func TestNotFound(t *testing.T) {
	t.Parallel()
	one, two := load(t, "one", "Add/v1", "Add/v2", "Drop/v1"), load(t, "two", "Add/v2", "Add/v3")
	long := &catalog.Catalog{Source: "long", Functions: []catalog.Function{{ID: catalog.FunctionID{Group: "platform.example.com", Version: "v1", Kind: "Label"}}}}
	for _, tt := range []struct {
		name string
		in   catalog.Resolver
		id   catalog.FunctionID
		want string
	}{
		{"no similar function", one, id("Other", "v1"), "no catalog has the function g/v1/Other, searched one"},
		{"another version", one, id("Add", "v9"), "no catalog has the function g/v9/Add, searched one; it exists in version v1, v2"},
		{"misspelt", one, id("Dorp", "v1"), "no catalog has the function g/v1/Dorp, searched one"},
		{"misspelt a little", one, id("Dropp", "v1"), "no catalog has the function g/v1/Dropp, searched one; there is a kind Drop in that group"},
		{"misspelt group", long, catalog.FunctionID{Group: "platfrm.example.com", Version: "v1", Kind: "Label"}, "no catalog has the function platfrm.example.com/v1/Label, searched long; there is a kind Label in the group platform.example.com"},
		{"misspelt group, another kind", long, catalog.FunctionID{Group: "platfrm.example.com", Version: "v1", Kind: "Other"}, "no catalog has the function platfrm.example.com/v1/Other, searched long"},
		{"another group", one, catalog.FunctionID{Group: "h", Version: "v1", Kind: "Add"}, "no catalog has the function h/v1/Add, searched one"},
		{"chain", catalog.Chain(one, two), id("Add", "v9"), "no catalog has the function g/v9/Add, searched one, two; it exists in version v1, v2, v3"},
		{"chain, misspelt", catalog.Chain(two, one), id("drop", "v1"), "no catalog has the function g/v1/drop, searched two, one; there is a kind Drop in that group"},
		{"chain in a chain", catalog.Chain(catalog.Chain(one), catalog.Chain(), two), id("X", "v1"), "no catalog has the function g/v1/X, searched one, two"},
		{"no catalogs", catalog.Chain(), id("Add", "v1"), "no catalog has the function g/v1/Add"},
		{"hostile", one, id("\x1b[2J", "v1"), `no catalog has the function "g/v1/\x1b[2J", searched one`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.in.Resolve(t.Context(), of(tt.id))
			var none *catalog.NotFoundError
			if !errors.As(err, &none) || none.Query.Config != tt.id {
				t.Fatalf("want a NotFoundError of %s, got %v", tt.id, err)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChain(t *testing.T) {
	t.Parallel()
	one, two := load(t, "one", "A/v1"), load(t, "two", "A/v1", "B/v1")
	down := errors.New("down")
	broken := catalog.Lazy(func(context.Context) (*catalog.Catalog, error) { return nil, down })
	never := catalog.Lazy(func(context.Context) (*catalog.Catalog, error) {
		t.Error("a catalog was loaded that is not needed")
		return nil, down
	})
	for _, tt := range []struct {
		name string
		in   catalog.Resolver
		kind string
		from string
		err  error
	}{
		{"the first match wins", catalog.Chain(one, two, never), "A", "one", nil},
		{"the caller decides the order", catalog.Chain(two, one, never), "A", "two", nil},
		{"only the second has it", catalog.Chain(one, two), "B", "two", nil},
		{"a catalog that cannot be loaded ends the search", catalog.Chain(one, broken, two), "B", "", down},
		{"a broken catalog after the match does not matter", catalog.Chain(two, broken), "B", "two", nil},
	} {
		f, err := tt.in.Resolve(t.Context(), of(id(tt.kind, "v1")))
		if !errors.Is(err, tt.err) || f.Publisher != tt.from {
			t.Errorf("%s: from %q, %v", tt.name, f.Publisher, err)
		}
	}
}

func TestLazyLoadsOnce(t *testing.T) {
	t.Parallel()
	c := load(t, "c", "A/v1")
	down := errors.New("down")
	for _, tt := range []struct {
		name string
		c    *catalog.Catalog
		give error
		want error
	}{
		{"loaded", c, nil, nil},
		{"failed", nil, down, down},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var loads atomic.Int32
			r := catalog.Lazy(func(context.Context) (*catalog.Catalog, error) {
				loads.Add(1)
				return tt.c, tt.give
			})
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if _, err := r.Resolve(t.Context(), of(id("A", "v1"))); !errors.Is(err, tt.want) {
						t.Errorf("got %v, want %v", err, tt.want)
					}
				})
			}
			all.Wait()
			if n := loads.Load(); n != 1 {
				t.Errorf("loaded %d times", n)
			}
		})
	}
}

func TestLazyNothing(t *testing.T) {
	t.Parallel()
	r := catalog.Lazy(func(context.Context) (*catalog.Catalog, error) { return nil, nil })
	if _, err := r.Resolve(t.Context(), of(id("A", "v1"))); err == nil {
		t.Error("want an error if load returns no catalog")
	}
}

// TestLazyCancelled cancels the first caller while others wait for its load. One of them loads
// again, and all others get the result.
func TestLazyCancelled(t *testing.T) {
	t.Parallel()
	c := load(t, "c", "A/v1")
	var loads atomic.Int32
	loading := make(chan struct{})
	r := catalog.Lazy(func(ctx context.Context) (*catalog.Catalog, error) {
		if loads.Add(1) == 1 {
			close(loading)
			<-ctx.Done()
			return nil, fmt.Errorf("fetching: %w", ctx.Err())
		}
		return c, nil
	})
	first, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := r.Resolve(first, of(id("A", "v1"))); !errors.Is(err, context.Canceled) {
			t.Errorf("the first caller got %v", err)
		}
	})
	<-loading
	gone, giveUp := context.WithCancel(t.Context())
	giveUp()
	if _, err := r.Resolve(gone, of(id("A", "v1"))); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that gives up waiting got %v", err)
	}
	for range 10 {
		all.Go(func() {
			if _, err := r.Resolve(t.Context(), of(id("A", "v1"))); err != nil {
				t.Errorf("a waiting caller got %v", err)
			}
		})
	}
	cancel()
	all.Wait()
	if n := loads.Load(); n != 2 {
		t.Errorf("loaded %d times, want 2", n)
	}
}

func TestLazyPanic(t *testing.T) {
	t.Parallel()
	c := load(t, "c", "A/v1")
	loads := 0
	r := catalog.Lazy(func(context.Context) (*catalog.Catalog, error) {
		if loads++; loads == 1 {
			panic("first")
		}
		return c, nil
	})
	func() {
		defer func() { _ = recover() }()
		_, _ = r.Resolve(t.Context(), of(id("A", "v1")))
	}()
	if _, err := r.Resolve(t.Context(), of(id("A", "v1"))); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}
