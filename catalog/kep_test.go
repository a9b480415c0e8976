package catalog_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
)

var update = flag.Bool("update", false, "update the golden files")

func TestDecodeKEP(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/kep-2906/*.yaml")
	if err != nil || len(files) != 7 {
		t.Fatalf("want the KEP's 7 catalogs, got %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data := read(t, file)
			c, err := catalog.Decode(filepath.Base(file), data)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", dump(t, c))
			for _, f := range c.Functions {
				got, err := c.Resolve(t.Context(), of(f.ID))
				if err != nil || got.Line != f.Line {
					t.Errorf("resolving %s: line %d, %v", f.ID, got.Line, err)
				}
			}
		})
	}
}

// TestRewriteKEP checks that an edit without changes alters only spaces at the ends of lines and
// the indentation of lists.
func TestRewriteKEP(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/kep-2906/*.yaml")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data := read(t, file)
			got, err := catalog.Rewrite(data, func(*catalog.Runtime, catalog.FunctionID) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(words(data), words(got)); diff != "" {
				t.Error(diff)
			}
			again, err := catalog.Rewrite(got, func(*catalog.Runtime, catalog.FunctionID) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(got), string(again)); diff != "" {
				t.Error("a second Rewrite gives another result:", diff)
			}
		})
	}
}

// words returns the lines with single spaces, and none at their ends.
func words(data []byte) []string {
	var out []string
	for line := range strings.Lines(string(data)) {
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	return out
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, file)), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// dump writes a catalog field by field, without empty fields.
func dump(t *testing.T, c *catalog.Catalog) string {
	t.Helper()
	var b strings.Builder
	line := func(indent, name string, v any) {
		if s := fmt.Sprint(v); s != "" && s != "[]" && s != "map[]" {
			fmt.Fprintf(&b, "%s%s: %s\n", indent, name, s)
		}
	}
	line("", "kind", c.Kind)
	line("", "name", c.Name)
	line("", "labels", c.Labels)
	line("", "annotations", c.Annotations)
	for _, f := range c.Functions {
		fmt.Fprintf(&b, "%s, line %d\n", f.ID, f.Line)
		line("  ", "description", f.Description)
		line("  ", "publisher", f.Publisher)
		line("  ", "home", f.Home)
		line("  ", "usage", f.Usage)
		line("  ", "examples", strings.Join(f.Examples, " | "))
		line("  ", "license", f.License)
		line("  ", "maintainers", f.Maintainers)
		line("  ", "tags", f.Tags)
		if f.Idempotent != nil {
			line("  ", "idempotent", *f.Idempotent)
		}
		if f.Schema != nil {
			line("  ", "schema", flow(t, f.Schema))
		}
		for _, r := range f.Runtimes {
			line("  ", fmt.Sprintf("runtime %s, line %d", r.Kind, r.Line), flow(t, r.Spec))
		}
	}
	return b.String()
}

// flow returns a node as JSON.
func flow(t *testing.T, n *yaml.RNode) string {
	t.Helper()
	if n.YNode().Kind == yaml.ScalarNode {
		return n.YNode().Value
	}
	data, err := n.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}
