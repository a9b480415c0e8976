package fnconfig

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/krmcat/krmcat/pipeline/internal/source"

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
	written := map[string]ast.Expr{}
	for _, e := range entries {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				for i, value := range spec.Values {
					written[spec.Names[i].Name] = value
				}
			}
			return true
		})
	}
	texts := map[string]string{}
	for name, value := range written {
		texts[name] = joined(t, value, written)
	}
	return texts
}

// joined is the text of a constant: literals and other constants, put behind each other.
func joined(t *testing.T, value ast.Expr, constants map[string]ast.Expr) string {
	t.Helper()
	switch v := value.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(v.Value)
		if err != nil {
			t.Fatal(err)
		}
		return text
	case *ast.BinaryExpr:
		return joined(t, v.X, constants) + joined(t, v.Y, constants)
	case *ast.Ident:
		if constants[v.Name] != nil {
			return joined(t, constants[v.Name], constants)
		}
	}
	t.Fatalf("%T is no text", value)
	return ""
}

// TestDefaultFieldSpecsAreKustomizes compares our table with the source of kustomize, which
// keeps it to itself. It is not parallel: go is not found while kustomize runs.
func TestDefaultFieldSpecsAreKustomizes(t *testing.T) {
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
			var fields map[string][]types.FieldSpec
			if err := k8syaml.UnmarshalStrict([]byte(texts[c.constant]), &fields); err != nil {
				t.Fatalf("%s: %v", c.constant, err)
			}
			want := fields[c.field]
			if len(want) == 0 {
				t.Fatalf("kustomize's %s says nothing of %s", c.constant, c.field)
			}
			if diff := cmp.Diff(inOrder(want), inOrder(defaultFieldSpecs(kind))); diff != "" {
				t.Errorf("(-kustomize +krmcat):\n%s", diff)
			}
		})
	}
	// A builtin of a later kustomize that takes fieldSpecs has to get its defaults too.
	for _, kind := range BuiltinKinds() {
		if _, has := source.JSONFields(PluginType(kind))["fieldSpecs"]; has && !compared[kind] {
			t.Errorf("%s takes fieldSpecs, and nothing compares its defaults", kind)
		}
	}
}

// inOrder lists places. Those of one kind of resource are different ones, so that it does
// not matter which comes first; kustomize leaves it to a sort that is not stable.
func inOrder(specs []types.FieldSpec) []string {
	var all []string
	for _, f := range specs {
		all = append(all, f.String())
	}
	slices.Sort(all)
	return all
}

// TestBuiltinKindsAreKustomizes looks for builtins that kustomize has and krmcat does not
// know, and the other way round. It is not parallel, as the one above.
func TestBuiltinKindsAreKustomizes(t *testing.T) {
	source := filepath.Join(kustomizeSource(t), "internal", "plugins", "builtinhelpers", "builtins.go")
	file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool { // its two tables are all that has keys there
		if pair, ok := n.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok {
				known[key.Name] = true
			}
		}
		return true
	})
	for _, kind := range ResourceKinds() {
		known[kind] = true
	}
	ours := map[string]bool{}
	for _, kind := range BuiltinKinds() {
		ours[kind] = true
	}
	if diff := cmp.Diff(known, ours); diff != "" {
		t.Errorf("(-kustomize +krmcat):\n%s", diff)
	}
}
