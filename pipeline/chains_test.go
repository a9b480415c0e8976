package pipeline_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/render"
)

// chain is an archive of testdata/chains: Compositions that import each other, the order in
// which their functions shall run, written by hand, and what comes out.
type chain struct {
	path  string
	text  string // what is there to read, as an archive
	order string
	want  map[string]string
}

// wanted begins the names of files that hold what comes out.
const wanted = "want/"

func chains(t *testing.T) []chain {
	t.Helper()
	paths, err := filepath.Glob("testdata/chains/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d archives, at least 20 are promised: %v", len(paths), err)
	}
	var all []chain
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := chain{path: path, want: map[string]string{}}
		_, order, ok := strings.Cut(string(a.Comment), "order: ")
		if !ok {
			t.Fatalf("%s does not say in which order", path)
		}
		c.order = strings.TrimSpace(order)
		input := &txtar.Archive{}
		for _, f := range a.Files {
			if strings.HasPrefix(f.Name, wanted) {
				c.want[f.Name] = string(f.Data)
			} else {
				input.Files = append(input.Files, f)
			}
		}
		c.text = string(txtar.Format(input))
		all = append(all, c)
	}
	return all
}

// check compares what came out with the archive, or writes it there.
func (c chain) check(t *testing.T, got map[string]string) {
	t.Helper()
	if !*update {
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Error(diff)
		}
		return
	}
	a, err := txtar.ParseFile(c.path)
	if err != nil {
		t.Fatal(err)
	}
	a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, wanted) })
	for _, name := range slices.Sorted(maps.Keys(got)) {
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(got[name])})
	}
	if err := os.WriteFile(c.path, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// trace is an Apply in which each function adds its name and the value of its config to an
// annotation of every resource. The first one makes a resource.
func trace(steps []pipeline.Step) pipeline.Apply {
	return func(_ context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		s := steps[i]
		value, err := s.Config.Pipe(yaml.Lookup("spec", "value"))
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			items = append(items, yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: made-by-"+s.Name+"\n"))
		}
		for _, n := range items {
			said := strings.TrimSpace(n.GetAnnotations()["said"] + " " + s.Name + "=" + yaml.GetValue(value))
			if err := n.PipeE(yaml.SetAnnotation("said", said)); err != nil {
				return nil, err
			}
		}
		return items, nil
	}
}

// rendered is what a target gives, as it is printed.
func rendered(t *testing.T, tgt pipeline.Target) string {
	t.Helper()
	items, err := itemsOf(tgt.Build)(context.Background(), trace(tgt.Steps()))
	if err != nil {
		t.Fatal(err)
	}
	out, err := render.YAML(items)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// plan lists the Steps of a target: where each is declared and its config.
func plan(t *testing.T, steps []pipeline.Step) string {
	t.Helper()
	var out bytes.Buffer
	for _, s := range steps {
		config, err := s.Config.String()
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("# " + s.Where + "\n")
		for _, o := range s.Overridden() {
			out.WriteString("# overridden at " + o + "\n")
		}
		out.WriteString(config + "---\n")
	}
	return out.String()
}

// TestChains is KEP-2299's "Composition evaluation": any depth of imports is one list.
func TestChains(t *testing.T) {
	t.Parallel()
	for _, c := range chains(t) {
		t.Run(strings.TrimSuffix(filepath.Base(c.path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			for range 2 {
				tgt, _ := mustLoad(t, c.text)
				steps, resources := plan(t, tgt.Steps()), rendered(t, tgt)
				if before, again := got["want/resources"]; again && (before != resources || got["want/steps"] != steps) {
					t.Fatal(cmp.Diff(before, resources), cmp.Diff(got["want/steps"], steps))
				}
				got["want/steps"], got["want/resources"] = steps, resources
			}
			order, text := inOne(t, inMemory(t, c.text))
			if diff := cmp.Diff(c.order, order); diff != "" {
				t.Fatal("order: ", diff)
			}
			got["want/consolidated"] = text
			fsys := inMemory(t, c.text)
			if err := fsys.WriteFile("/t/composition.yaml", []byte(text)); err != nil {
				t.Fatal(err)
			}
			tgt, err := pipeline.Load(context.Background(), fsys, "/t", pipeline.Options{Executable: executable(t), LoadAnywhere: true})
			if err != nil {
				t.Fatalf("the consolidated form: %v\n%s", err, text)
			}
			if diff := cmp.Diff(got["want/resources"], rendered(t, tgt)); diff != "" {
				t.Errorf("the consolidated form makes other resources:\n%s", diff)
			}
			if _, again := inOne(t, fsys); bare(again) != bare(text) {
				t.Error("consolidated twice, and not the same: ", cmp.Diff(bare(text), bare(again)))
			}
			c.check(t, got)
		})
	}
}

// inOne gives the names of the transformers of a Composition in order, and the
// Composition with all its imports in it.
func inOne(t *testing.T, fsys filesys.FileSystem) (order, text string) {
	t.Helper()
	c, err := pipeline.Consolidate(context.Background(), fsys, "/t", pipeline.Options{LoadAnywhere: true})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range c.Transformers {
		names = append(names, one.Name)
	}
	out, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " "), string(out)
}

// bare leaves the comments out: they say where each transformer was declared.
func bare(text string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "#")
	}), "\n")
}

// executable is this program, which kustomize calls back.
func executable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}
