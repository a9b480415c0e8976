package target

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/types"
	k8syaml "sigs.k8s.io/yaml"
)

// kustomizeSource is the source of the kustomize that this module requires.
func kustomizeSource(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kustomize/api").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Fatalf("where is kustomize's source? %v", err)
	}
	return dir
}

// kustomizeConstants reads the texts that kustomize's defaults are made of.
func kustomizeConstants(t *testing.T) map[string]string {
	t.Helper()
	dir := filepath.Join(kustomizeSource(t), "internal", "konfig", "builtinpluginconsts")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, e := range entries {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range spec.Names {
				if i >= len(spec.Values) {
					continue
				}
				var text string
				ast.Inspect(spec.Values[i], func(n ast.Node) bool {
					if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
						s, err := strconv.Unquote(lit.Value)
						if err != nil {
							t.Fatal(err)
						}
						text += s
					}
					return true
				})
				texts[name.Name] = text
			}
			return true
		})
	}
	return texts
}

// TestDefaultFieldSpecsAreKustomizes compares our table with the source of kustomize, which
// keeps it to itself.
func TestDefaultFieldSpecsAreKustomizes(t *testing.T) {
	t.Parallel()
	texts := kustomizeConstants(t)
	compared := map[string]bool{}
	for kind, c := range map[string]struct{ constant, field string }{
		"PrefixTransformer":       {"namePrefixFieldSpecs", "namePrefix"},
		"SuffixTransformer":       {"nameSuffixFieldSpecs", "nameSuffix"},
		"PrefixSuffixTransformer": {"namePrefixFieldSpecs", "namePrefix"},
		"NamespaceTransformer":    {"namespaceFieldSpecs", "namespace"},
		"ImageTagTransformer":     {"imagesFieldSpecs", "images"},
		"ReplicaCountTransformer": {"replicasFieldSpecs", "replicas"},
		"AnnotationsTransformer":  {"commonAnnotationFieldSpecs", "commonAnnotations"},
		"LabelTransformer":        {"commonLabelFieldSpecs", "commonLabels"},
	} {
		compared[kind] = true
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var fields map[string][]types.FieldSpec
			if err := k8syaml.UnmarshalStrict([]byte(texts[c.constant]), &fields); err != nil {
				t.Fatalf("%s: %v", c.constant, err)
			}
			want := types.FsSlice(fields[c.field])
			if len(want) == 0 {
				t.Fatalf("kustomize's %s says nothing of %s", c.constant, c.field)
			}
			sort.Sort(want)
			if diff := cmp.Diff([]types.FieldSpec(want), defaultFieldSpecs(kind)); diff != "" {
				t.Errorf("(-kustomize +krmcat):\n%s", diff)
			}
		})
	}
	// A builtin of a later kustomize that takes fieldSpecs has to get its defaults too.
	for _, kind := range builtinKinds() {
		if _, has := jsonFields(pluginType(kind))["fieldSpecs"]; has && !compared[kind] {
			t.Errorf("%s takes fieldSpecs, and nothing compares its defaults", kind)
		}
	}
}

// TestBuiltinKindsAreKustomizes looks for builtins that kustomize has and krmcat does not
// know, and the other way round.
func TestBuiltinKindsAreKustomizes(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(filepath.Join(kustomizeSource(t), "internal", "builtins"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"PrefixSuffixTransformer": true} // KEP-2299's
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".go"); name != "doc" {
			known[name] = true
		}
	}
	for _, kind := range resourceKinds() {
		known[kind] = true
	}
	ours := map[string]bool{}
	for _, kind := range builtinKinds() {
		ours[kind] = true
	}
	if diff := cmp.Diff(known, ours); diff != "" {
		t.Errorf("(-kustomize +krmcat):\n%s", diff)
	}
}
