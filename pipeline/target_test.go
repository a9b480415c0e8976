package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline"
)

// inMemory lays out files below /t.
func inMemory(t testing.TB, text string) filesys.FileSystem {
	t.Helper()
	fsys := filesys.MakeFsInMemory()
	for _, f := range txtar.Parse([]byte(text)).Files {
		if err := fsys.WriteFile("/t/"+f.Name, f.Data); err != nil {
			t.Fatal(err)
		}
	}
	return fsys
}

func load(t testing.TB, text string) (pipeline.Target, filesys.FileSystem, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	fsys := inMemory(t, text)
	tgt, err := pipeline.Load(context.Background(), fsys, "/t", pipeline.Options{Executable: self})
	return tgt, fsys, err
}

func mustLoad(t testing.TB, text string) (pipeline.Target, filesys.FileSystem) {
	t.Helper()
	tgt, fsys, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return tgt, fsys
}

// keep is a function that changes nothing.
func keep(_ context.Context, _ int, items []*yaml.RNode) ([]*yaml.RNode, error) { return items, nil }

func names(items []*yaml.RNode) string {
	var out []string
	for _, n := range items {
		out = append(out, n.GetName())
	}
	return strings.Join(out, " ")
}

const cms = `-- cms.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
`

func fn(kind, name string) string {
	return fmt.Sprintf("apiVersion: example.com/v1\nkind: %s\nmetadata: {name: %s}\n", kind, name)
}

func TestSteps(t *testing.T) {
	t.Parallel()
	tgt, _ := mustLoad(t, `-- kustomization.yaml --
catalogs: [top.yaml]
resources: [base]
transformers:
- path.yaml
- apiVersion: example.com/v1
  kind: Mapping
  runtime: {exec: {path: ./x}}
- |
  # text
  apiVersion: example.com/v1
  kind: HTTPText
validators: [path.yaml]
-- path.yaml --
---
`+fn("One", "one")+"---\n"+fn("Two", "two")+`-- base/kustomization.yaml --
catalogs: [base.yaml, oci://example.com/c:v1]
generators: [g.yaml]
-- base/g.yaml --
`+fn("Gen", "gen"))
	var got []string
	for _, s := range tgt.Steps() {
		inline := ""
		if s.Inline != nil {
			inline = " " + s.Inline.Kind
		}
		var catalogs []string
		for _, c := range s.Catalogs {
			catalogs = append(catalogs, c.Dir+":"+c.Declared)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s in %s%s %v", s.Where, s.Role, s.ID, s.Name, s.Dir, inline, catalogs))
	}
	want := []string{
		"/t/base/g.yaml:1 generator example.com/v1/Gen gen in /t/base [/t/base:base.yaml /t/base:oci://example.com/c:v1]",
		"/t/kustomization.yaml:5 transformer example.com/v1/Mapping mapping in /t exec [/t:top.yaml]",
		"/t/kustomization.yaml:10 transformer example.com/v1/HTTPText http-text in /t [/t:top.yaml]",
		"/t/path.yaml:2 transformer example.com/v1/One one in /t [/t:top.yaml]",
		"/t/path.yaml:6 transformer example.com/v1/Two two in /t [/t:top.yaml]",
		"/t/path.yaml:2 validator example.com/v1/One one in /t [/t:top.yaml]",
		"/t/path.yaml:6 validator example.com/v1/Two two in /t [/t:top.yaml]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r, err := tgt.Steps()[1].Config.Pipe(yaml.Lookup("runtime")); err != nil || r != nil {
		t.Errorf("runtime is still in the config: %v %v", r, err)
	}
}

// TestConfigsOfADirectory are made by a build that has none of the options of the one that
// uses them.
func TestConfigsOfADirectory(t *testing.T) {
	t.Parallel()
	fsys := inMemory(t, "-- kustomization.yaml --\ntransformers: [fns]\n-- fns/kustomization.yaml --\nnamePrefix: p-\nresources: [z.yaml, a.yaml]\n"+
		"-- fns/z.yaml --\n"+fn("Z", "z")+"-- fns/a.yaml --\n"+fn("A", "a"))
	tgt, err := pipeline.Load(context.Background(), fsys, "/t", pipeline.Options{ManagedBy: true, Reorder: pipeline.ReorderLegacy})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range tgt.Steps() {
		got = append(got, s.Name)
		if labels := s.Config.GetLabels(); len(labels) > 0 {
			t.Errorf("%s has labels: %v", s.Name, labels)
		}
	}
	if diff := cmp.Diff([]string{"p-z", "p-a"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPlannedIsBuilt changes the files between Load and Build: what was planned is built.
func TestPlannedIsBuilt(t *testing.T) {
	t.Parallel()
	tgt, fsys := mustLoad(t, "-- kustomization.yaml --\nresources: [cms.yaml]\ntransformers: [t.yaml]\n"+cms+
		"-- t.yaml --\napiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: p-\nfieldSpecs: [{path: metadata/name}]\n")
	docker := "metadata:\n  name: x\n  annotations: {config.kubernetes.io/container: example.com/x}\n"
	for path, text := range map[string]string{
		"/t/kustomization.yaml": "resources: [cms.yaml]\ntransformers: [u.yaml]\n",
		"/t/t.yaml":             "apiVersion: example.com/v1\nkind: X\n" + docker,
		"/t/u.yaml":             "apiVersion: example.com/v1\nkind: X\n" + docker,
	} {
		if err := fsys.WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	items, err := itemsOf(tgt.Build)(context.Background(), keep)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(items); got != "p-a p-b" {
		t.Errorf("built %q", got)
	}
}

const oneFunction = "-- kustomization.yaml --\nresources: [cms.yaml]\n%s: [t.yaml]\n" + cms +
	"-- t.yaml --\napiVersion: example.com/v1\nkind: Fn\nmetadata: {name: f}\n"

func TestWhatFunctionsMayReturn(t *testing.T) {
	t.Parallel()
	first := func(_ context.Context, _ int, items []*yaml.RNode) ([]*yaml.RNode, error) { return items[:1], nil }
	nothing := func(context.Context, int, []*yaml.RNode) ([]*yaml.RNode, error) { return nil, nil }
	twice := func(_ context.Context, _ int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		return append(items, items[0].Copy()), nil
	}
	more := func(_ context.Context, _ int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		return append(items, yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")), nil
	}
	changed := func(_ context.Context, _ int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		return items, items[1].PipeE(yaml.SetLabel("x", "y"))
	}
	validated := func(_ context.Context, _ int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		return items, items[1].PipeE(yaml.SetLabel("validated-by", "me"))
	}
	nameless := func(context.Context, int, []*yaml.RNode) ([]*yaml.RNode, error) {
		return []*yaml.RNode{yaml.MustParse("a: b\n")}, nil
	}
	failing := func(context.Context, int, []*yaml.RNode) ([]*yaml.RNode, error) {
		return nil, errors.New("no such luck")
	}
	for _, c := range []struct {
		list, name string
		apply      pipeline.Apply
		want, fail string
	}{
		{"transformers", "keeps", keep, "a b", ""},
		{"transformers", "drops", first, "a", ""},
		{"transformers", "empties", nothing, "", ""},
		{"transformers", "adds", more, "a b c", ""},
		{"transformers", "doubles", twice, "", "/t/t.yaml:1: Fn f: it returned v1 ConfigMap a twice"},
		{"transformers", "no kind", nameless, "", "it returned something without a kind"},
		{"transformers", "fails", failing, "", "no such luck"},
		{"generators", "nothing", nothing, "a b", ""},
		{"generators", "adds", more, "a b c", ""},
		{"validators", "keeps", keep, "a b", ""},
		{"validators", "nothing", nothing, "a b", ""},
		{"validators", "fewer", first, "a b", ""},
		{"validators", "label of its own", validated, "a b", ""},
		{"validators", "adds", more, "", "a validator must not add resources, it returned v1 ConfigMap c"},
		{"validators", "changes", changed, "", "a validator must not change resources, it changed v1 ConfigMap b"},
		{"validators", "fails", failing, "", "no such luck"},
	} {
		t.Run(c.list+" "+c.name, func(t *testing.T) {
			t.Parallel()
			tgt, _ := mustLoad(t, fmt.Sprintf(oneFunction, c.list))
			items, err := itemsOf(tgt.Build)(context.Background(), c.apply)
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) {
					t.Fatalf("want an error with %q, got %v", c.fail, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := names(items); got != c.want {
				t.Errorf("built %q, want %q", got, c.want)
			}
		})
	}
}

func TestGeneratorsGetNothing(t *testing.T) {
	t.Parallel()
	tgt, _ := mustLoad(t, fmt.Sprintf(oneFunction, "generators"))
	_, err := itemsOf(tgt.Build)(context.Background(), func(_ context.Context, _ int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		if len(items) != 0 {
			t.Errorf("a generator was given %d items", len(items))
		}
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"generators", "transformers", "validators"} {
		tgt, _ := mustLoad(t, fmt.Sprintf(oneFunction, list))
		ctx, cancel := context.WithCancel(context.Background())
		_, err := itemsOf(tgt.Build)(ctx, func(ctx context.Context, _ int, _ []*yaml.RNode) ([]*yaml.RNode, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", list, err)
		}
	}
}

func TestComposition(t *testing.T) {
	t.Parallel()
	tgt, _ := mustLoad(t, `-- composition.yaml --
kind: Composition
catalogs: [oci://example.com/c:v1]
modules:
- kind: ResourceGenerator
  files: [cms.yaml]
- apiVersion: example.com/v1
  kind: SetLabel
- more.yaml
- apiVersion: builtin
  kind: ResourceAccumulator
  metadata: {name: second}
  paths: [late.yaml]
`+cms+"-- more.yaml --\n"+fn("A", "one")+"---\n"+fn("A", "two")+
		"-- late.yaml --\napiVersion: v1\nkind: Namespace\nmetadata: {name: late}\n")
	var seen []string
	items, err := itemsOf(tgt.Build)(context.Background(), func(_ context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		seen = append(seen, tgt.Steps()[i].Name+": "+names(items))
		return items, items[0].PipeE(yaml.SetAnnotation("internal.config.kubernetes.io/path", "x"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"set-label: a b", "one: a b", "two: a b"}, seen); diff != "" {
		t.Error(diff)
	}
	if got := names(items); got != "a b late" {
		t.Errorf("built %q: a Composition keeps its own order", got)
	}
	if len(items[0].GetAnnotations()) > 0 {
		t.Errorf("annotations between orchestrator and function are left: %v", items[0].GetAnnotations())
	}
}

var update = flag.Bool("update", false, "write the golden files")

// TestBadTargets holds the message and the position of everything that is refused.
func TestBadTargets(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/bad/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			tgt, _, err := load(t, string(text))
			if err == nil {
				_, err = itemsOf(tgt.Build)(context.Background(), keep)
			}
			if err == nil {
				t.Fatal("it was accepted")
			}
			a := txtar.Parse(text)
			got := []byte(err.Error() + "\n")
			if *update {
				a.Comment = got
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(a.Comment, got) {
				t.Error(cmp.Diff(string(a.Comment), string(got)))
			}
		})
	}
}

func FuzzKustomization(f *testing.F) {
	for _, seed := range []string{
		"resources: [a]\n", "transformers: [t.yaml, {apiVersion: x/v1, kind: Y}]\n", "<<: {catalogs: [x]}\n",
		"a: &a [*a]\n", "Transformers:\n- |\n  kind: X\n", "configMapGenerator: [{files: [kustomization.yaml]}]\n",
		"generators: [\"apiVersion: v1\\nkind: FooList\\nitems: [{}]\"]\n", "kind: Component\n", "? [x]\n: y\n", "\x00", "--- \n---\n",
	} {
		f.Add([]byte(seed), []byte(fn("F", "f")))
	}
	f.Fuzz(func(t *testing.T, kustomization, config []byte) {
		fsys := filesys.MakeFsInMemory()
		for path, data := range map[string][]byte{"/t/kustomization.yaml": kustomization, "/t/t.yaml": config} {
			if err := fsys.WriteFile(path, data); err != nil {
				t.Skip(err)
			}
		}
		tgt, err := pipeline.Load(context.Background(), fsys, "/t", pipeline.Options{})
		if (tgt == nil) == (err == nil) {
			t.Fatalf("target %v, error %v", tgt, err)
		}
	})
}

func FuzzComposition(f *testing.F) {
	for _, seed := range []string{
		"kind: Composition\n", "kind: Composition\ntransformers: [t.yaml]\n",
		"kind: Composition\nmodules:\n- kind: ResourceGenerator\n  files: [t.yaml]\n", "kind: Composition\ncatalogs: x\n",
		"kind: Composition\ntransformers: &a\n- {kind: X, apiVersion: a/b, runtime: {exec: {path: x}}, y: *a}\n", "- a\n",
	} {
		f.Add([]byte(seed), []byte(fn("F", "f")))
	}
	const imports = "kind: Composition\ntransformersFrom: [{path: t.yaml, importMode: append}]\n"
	for _, seed := range [][2]string{
		{imports, imports},
		{imports + "transformerOverrides:\n- {apiVersion: a/b, kind: X, runtime: null, l: [1], m: {$patch: delete}}\n",
			"kind: Composition\ntransformers:\n- {apiVersion: a/b, kind: X, runtime: {exec: {path: x}}, l: [2], m: {}}\n"},
		{imports + "modules: [{apiVersion: a/b, kind: Y}]\ntransformerOrder: [{name: y}, {name: x, kind: X, apiVersion: a/b, namespace: n}]\n",
			"kind: Composition\nmodules: [{apiVersion: a/b, kind: X, metadata: {namespace: n}}]\n"},
		{imports + "transformerOverrides: [{kind: PrefixTransformer, prefix: b-}]\n", "kind: Composition\ntransformers: [{kind: PrefixTransformer, prefix: a-}]\n"},
		{"kind: Composition\ntransformers:\n- {kind: ResourceAccumulator, paths: [t.yaml]}\n- {kind: LabelTransformer, labels: {a: b}}\n", fn("F", "f")},
		{"kind: Composition\ntransformers:\n- {kind: ConfigMapGenerator, name: g, files: [x=t.yaml]}\n- {kind: Kustomization, resources: [t.yaml], namePrefix: a-}\n", fn("F", "f")},
		{"kind: Composition\ntransformers:\n- {kind: ResourceGenerator, files: [.]}\n", ""},
		{"kind: Composition\ntransformers:\n- {kind: 1, apiVersion: 2}\ntransformerOrder: [{nam: 1, kin: 2, name: ''}]\n", ""},
		{"kind: Composition\ntransformers:\n- {kind: PatchTransformer, path: t.yaml, target: {kind: F}}\n", "- {op: add, path: /a, value: b}\n"},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, composition, config []byte) {
		fsys := filesys.MakeFsInMemory()
		for path, data := range map[string][]byte{"/t/composition.yaml": composition, "/t/t.yaml": config} {
			if err := fsys.WriteFile(path, data); err != nil {
				t.Skip(err)
			}
		}
		var first string
		for i := range 4 { // as often as it takes to see an order that is left to chance
			tgt, err := pipeline.Load(context.Background(), fsys, "/t", pipeline.Options{})
			if err == nil && i == 0 {
				_, _ = itemsOf(tgt.Build)(context.Background(), keep)
			}
			said := fmt.Sprint(err)
			if i > 0 && said != first {
				t.Fatalf("once %s, once %s", first, said)
			}
			first = said
		}
	})
}

// TestFunctionsStartNoKustomize: the functions of a Composition run without kustomize, up to the
// first thing that needs it.
func TestFunctionsStartNoKustomize(t *testing.T) {
	t.Parallel()
	composition := "-- composition.yaml --\nkind: Composition\ntransformers:\n- {kind: ResourceGenerator, files: [cms.yaml]}\n- {apiVersion: example.com/v1, kind: Fn}\n"
	for last, want := range map[string][]bool{"": {false}, "- {kind: PrefixTransformer, prefix: p-}\n- {apiVersion: example.com/v1, kind: Gn}\n": {false, true}} {
		tgt, err := pipeline.Load(t.Context(), inMemory(t, composition+last+cms), "/t", pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var byKustomize []bool
		_, err = itemsOf(tgt.Build)(t.Context(), func(_ context.Context, _ int, items []*yaml.RNode) ([]*yaml.RNode, error) {
			byKustomize = append(byKustomize, bytes.Contains(debug.Stack(), []byte("kustomize/api/krusty.")))
			return items, nil
		})
		if err != nil || !slices.Equal(byKustomize, want) {
			t.Errorf("with %q: called by kustomize: %v, %v", last, byKustomize, err)
		}
	}
}

// TestCatalogsOfImports: the importer's come first, and each comes once.
func TestCatalogsOfImports(t *testing.T) {
	t.Parallel()
	tgt, _ := mustLoad(t, `-- composition.yaml --
kind: Composition
catalogs: [own.yaml, oci://example.com/shared:v1]
transformersFrom: [{path: a}, {path: b, importMode: append}]
-- a/composition.yaml --
kind: Composition
catalogs: [own.yaml, oci://example.com/base:v1]
transformersFrom: [{path: ../base}]
-- b/composition.yaml --
kind: Composition
catalogs: [oci://example.com/b:v1]
transformersFrom: [{path: ../base}]
transformers:
- {kind: Kustomization, catalogs: [inner.yaml], transformers: [{apiVersion: example.com/v1, kind: Inner}]}
-- base/composition.yaml --
kind: Composition
catalogs: [oci://example.com/base:v1]
transformers: [{apiVersion: example.com/v1, kind: Fn}]
`)
	union := "/t:own.yaml /t:oci://example.com/shared:v1 /t/a:own.yaml /t/a:oci://example.com/base:v1 /t/base:oci://example.com/base:v1 /t/b:oci://example.com/b:v1"
	want := []string{"Fn: " + union, "Inner: /t/b:inner.yaml " + union}
	var got []string
	for _, s := range tgt.Steps() {
		var refs []string
		for _, c := range s.Catalogs {
			refs = append(refs, c.Dir+":"+c.Declared)
		}
		got = append(got, s.ID.Kind+": "+strings.Join(refs, " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestFunctionsRunOnce: a resource that one function drops and another brings back comes
// last, as if each had been asked by kustomize itself, and nothing runs twice for it.
func TestFunctionsRunOnce(t *testing.T) {
	t.Parallel()
	fns := "- {apiVersion: e/v1, kind: Keep}\n- {apiVersion: e/v1, kind: Drop}\n- {apiVersion: e/v1, kind: Bring}\n"
	for _, text := range []string{
		"-- composition.yaml --\nkind: Composition\ntransformers:\n- {kind: ResourceGenerator, files: [cms.yaml]}\n" + fns + "- {kind: HashTransformer}\n",
		"-- composition.yaml --\nkind: Composition\ntransformers:\n- {kind: ResourceGenerator, files: [cms.yaml]}\n- {kind: HashTransformer}\n" + fns,
		"-- kustomization.yaml --\nsortOptions: {order: fifo}\nresources: [cms.yaml]\ntransformers:\n" + fns,
		"-- kustomization.yaml --\nsortOptions: {order: fifo}\nresources: [k]\ntransformers:\n" + strings.ReplaceAll(fns, "e/v1", "f/v1") +
			"-- k/kustomization.yaml --\nresources: [../cms.yaml]\ntransformers: [../fns.yaml]\n-- fns.yaml --\n" + strings.ReplaceAll(strings.ReplaceAll(fns, "- ", ""), "}\n", "}\n---\n"),
	} {
		fsys := inMemory(t, text+cms)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		tgt, err := pipeline.Load(context.Background(), fsys, "/t", pipeline.Options{Executable: self, LoadAnywhere: true})
		if err != nil {
			t.Fatal(err)
		}
		ran := map[int]int{}
		var dropped *yaml.RNode
		items, err := itemsOf(tgt.Build)(context.Background(), func(_ context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
			ran[i]++
			switch tgt.Steps()[i].ID.Kind {
			case "Drop":
				dropped = items[0]
				return items[1:], nil
			case "Bring":
				return append([]*yaml.RNode{dropped}, items...), nil
			}
			return items, nil
		})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		want := "b a"
		if strings.Contains(text, "f/v1") {
			want = "a b" // and once more
		}
		if got := names(items); got != want {
			t.Errorf("%s: built %q, want %q", text, got, want)
		}
		for i := range tgt.Steps() {
			if ran[i] != 1 {
				t.Errorf("%s: %s ran %d times", text, tgt.Steps()[i].ID.Kind, ran[i])
			}
		}
	}
}

// TestOrderPassesBuiltins: the order of what came back holds for the functions behind a builtin
// that renames it, and in the end, unless kustomize sorts; nobody sees how it is kept.
func TestOrderPassesBuiltins(t *testing.T) {
	t.Parallel()
	const fns = "- {apiVersion: e/v1, kind: Drop}\n- {apiVersion: e/v1, kind: Bring}\n"
	const prefix = "- {apiVersion: builtin, kind: PrefixTransformer, metadata: {name: p}, prefix: p-, fieldSpecs: [{path: metadata/name}]}\n"
	for _, test := range []struct{ text, want string }{
		{"sortOptions: {order: fifo}\nresources: [cms.yaml]\ntransformers:\n" + fns + prefix + "- {apiVersion: e/v1, kind: See}\n", "p-b p-a"},
		{"sortOptions: {order: fifo}\nresources: [cms.yaml]\ntransformers:\n" + fns + prefix + fns + prefix + "- {apiVersion: e/v1, kind: See}\n", "p-p-a p-p-b"},
		{"resources: [cms.yaml]\ntransformers:\n" + fns, "a b"},
	} {
		fsys := inMemory(t, "-- kustomization.yaml --\n"+strings.Replace(test.text, fns+prefix+fns+prefix, fns+prefix+again(fns)+again(prefix), 1)+cms)
		tgt, err := pipeline.Load(context.Background(), fsys, "/t", pipeline.Options{Executable: executable(t), LoadAnywhere: true})
		if err != nil {
			t.Fatal(err)
		}
		var dropped *yaml.RNode
		items, err := itemsOf(tgt.Build)(context.Background(), func(_ context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
			for _, n := range items {
				for key := range n.GetAnnotations() {
					if strings.Contains(key, "krmcat") {
						t.Errorf("%s: a function sees %s", test.text, key)
					}
				}
			}
			switch tgt.Steps()[i].ID.Kind {
			case "Drop":
				dropped = items[0]
				return items[1:], nil
			case "Bring":
				return append([]*yaml.RNode{dropped}, items...), nil
			}
			if got := names(items); got != test.want {
				t.Errorf("%s: the next run is given %q, want %q", test.text, got, test.want)
			}
			return items, nil
		})
		if err != nil {
			t.Fatalf("%s: %v", test.text, err)
		}
		if got := names(items); got != test.want {
			t.Errorf("%s: built %q, want %q", test.text, got, test.want)
		}
		for _, n := range items {
			if len(n.GetAnnotations()) > 0 {
				t.Errorf("%s: left behind: %v", test.text, n.GetAnnotations())
			}
		}
	}
}

// again names the configs of a list otherwise: kustomize wants each once.
func again(list string) string {
	return strings.NewReplacer("e/v1", "e/v2", "{name: p}", "{name: q}").Replace(list)
}
