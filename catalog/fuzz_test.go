package catalog_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
)

func seed(f *testing.F) {
	files, _ := filepath.Glob("testdata/kep-2906/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, tt := range badInputs() {
		if len(tt.in) < 4096 {
			f.Add([]byte(tt.in))
		}
	}
	f.Add([]byte(written))
	f.Add([]byte(list(complete)))
	f.Add([]byte(replacing))
	f.Add([]byte(named("a", complete) + entry(withName("b", complete)) + entry(complete)))
}

// FuzzDecode checks that Decode returns either a catalog, all of whose functions can be resolved,
// or problems with valid positions.
func FuzzDecode(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := catalog.Decode("c.yaml", data)
		if err != nil {
			checkErrors(t, "fuzz", err)
			if len(catalog.Lint("c.yaml", data)) == 0 {
				t.Error("Lint finds no error in a text that Decode refuses")
			}
			return
		}
		for i, fn := range c.Functions {
			got, err := c.Resolve(t.Context(), of(fn.ID))
			if several := (*catalog.AmbiguousError)(nil); errors.As(err, &several) && len(several.Names) > 1 {
				got, err = fn, nil // its name decides: checkNamed
			}
			if err != nil || got.ID != fn.ID || fn.Line < 1 {
				t.Errorf("%+v: %v", fn.ID, err)
			}
			if i < 20 { // each of them searches all functions
				checkNamed(t, c, fn)
				checkReplaces(t, c, fn)
			}
			if fn.ID != catalog.IDOf(fn.ID.APIVersion(), fn.ID.Kind) {
				t.Errorf("%+v cannot be resolved", fn.ID)
			}
		}
		n := 0
		for _, g := range c.Groups() {
			n += len(g.Versions)
		}
		if n != len(c.Functions) {
			t.Errorf("the groups have %d functions, want %d", n, len(c.Functions))
		}
	})
}

// checkNamed checks that a function is found by its name beside its own functionConfig, if the name
// is one and no function before it has the name and the type.
func checkNamed(t *testing.T, c *catalog.Catalog, fn catalog.Function) {
	t.Helper()
	q := catalog.Query{Config: fn.ID, Named: fn.Called()}
	got, err := c.Resolve(t.Context(), q)
	if catalog.CheckNamed(q.Named) != nil {
		if err == nil {
			t.Errorf("%q was found, and is no name", q.Named)
		}
		return
	}
	written := slices.ContainsFunc(c.Functions, func(f catalog.Function) bool { return f.Name == q.Named })
	if err == nil && got.Called() == q.Named && (got.ID == fn.ID || written && fn.Name == "") {
		return
	}
	if fn.Name == "" && written || strings.Contains(q.Named, "/") { // the written name is another function's; or it is read as a type
		return
	}
	t.Errorf("%+v: got %+v, %v", q, got.ID, err)
}

// checkReplaces checks that the tags that a function replaces are, and that no digest is.
func checkReplaces(t *testing.T, c *catalog.Catalog, fn catalog.Function) {
	t.Helper()
	for _, r := range fn.Replaces {
		for _, tag := range r.Tags {
			q := catalog.Query{Config: fn.ID, Image: r.Image + ":" + tag}
			if got, err := c.Resolve(t.Context(), q); err != nil || got.ID != fn.ID {
				t.Errorf("%+v: got %+v, %v", q, got.ID, err)
			}
			q.Image += "@sha256:" + strings.Repeat("0", 64)
			if got, err := c.Resolve(t.Context(), q); !errors.As(err, new(*catalog.NotFoundError)) {
				t.Errorf("%+v: got %+v, %v", q, got.ID, err)
			}
		}
	}
}

// sameRuntimes compares the meaning of two functions' runtimes, whatever their style.
func sameRuntimes(t *testing.T, a, b catalog.Function) {
	t.Helper()
	if len(a.Runtimes) != len(b.Runtimes) {
		t.Fatalf("%s: Rewrite changed the number of runtimes from %d to %d", a.ID, len(a.Runtimes), len(b.Runtimes))
	}
	for i, r := range a.Runtimes {
		if r.Kind != b.Runtimes[i].Kind {
			t.Errorf("%s: %q became %q", a.ID, r.Kind, b.Runtimes[i].Kind)
		}
		if was, is := meaning(r.Spec.YNode()), meaning(b.Runtimes[i].Spec.YNode()); was != is {
			t.Errorf("%s: %s became %s", a.ID, was, is)
		}
	}
}

func meaning(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		if n.ShortTag() == yaml.NodeTagNull {
			return "null"
		}
		return fmt.Sprintf("%s %q", n.ShortTag(), n.Value)
	}
	out := n.ShortTag() + "("
	for _, c := range n.Content {
		out += meaning(c) + ","
	}
	return out + ")"
}

// FuzzRewrite checks that the output of Rewrite has the same meaning as its input, and is the same
// in a second call.
func FuzzRewrite(f *testing.F) {
	seed(f)
	keep := func(*catalog.Runtime, catalog.FunctionID) error { return nil }
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := catalog.Rewrite(data, keep)
		c, derr := catalog.Decode("c.yaml", data)
		if (err == nil) != (derr == nil) {
			t.Fatalf("the error of Rewrite is %v, of Decode %v", err, derr)
		}
		if err != nil {
			if all := (*catalog.SyntaxErrors)(nil); !errors.As(err, &all) {
				t.Fatal(err)
			}
			return
		}
		again, err := catalog.Decode("c.yaml", out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if len(c.Functions) != len(again.Functions) {
			t.Fatalf("Rewrite changed the number of functions from %d to %d", len(c.Functions), len(again.Functions))
		}
		for i := range c.Functions {
			if c.Functions[i].ID != again.Functions[i].ID {
				t.Errorf("%s became %s", c.Functions[i].ID, again.Functions[i].ID)
			}
			sameRuntimes(t, c.Functions[i], again.Functions[i])
		}
		second, err := catalog.Rewrite(data, keep)
		if err != nil || !bytes.Equal(out, second) {
			t.Errorf("two calls with the same text return different bytes, %v", err)
		}
	})
}
