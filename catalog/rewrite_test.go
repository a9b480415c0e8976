package catalog_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
)

const written = `# who wrote this
apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionCatalog # the other spelling
metadata: {name: mine}
spec:
  krmFunctions:
    # the first
    - group: g
      names:
        kind: A
      versions:
        - name: v2
          runtime:
            exec:
              platforms:
                - bin: a
                  uri: oci://example.com/a:v2 # moves
        - name: v1
      runtime:
        starlark: oci://example.com/a:v1 # a string
---
apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: g
  kind: B
  description: "a: long, quoted text"
  versions:
    - name: v1
      runtime: {container: {image: "b:v1"}, other: }
`

func TestRewrite(t *testing.T) {
	t.Parallel()
	var seen []string
	got, err := catalog.Rewrite([]byte(written), func(rt *catalog.Runtime, at catalog.FunctionID) error {
		seen = append(seen, rt.Kind+" of "+at.String())
		switch rt.Kind {
		case "starlark":
			rt.Spec = yaml.NewMapRNode(&map[string]string{"uri": rt.Spec.YNode().Value + "@sha256:12"})
		case "exec":
			n, err := rt.Spec.Pipe(yaml.Lookup("platforms", "0"))
			if err != nil {
				return err
			}
			return n.PipeE(yaml.SetField("sha256", yaml.NewStringRNode("34")))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"starlark of g/A", "exec of g/v2/A", "container of g/v1/B", "other of g/v1/B",
	}, seen); diff != "" {
		t.Error(diff)
	}
	golden(t, "testdata/rewritten.golden", string(got))
	if _, err := catalog.Decode("again", got); err != nil {
		t.Error(err)
	}
}

func TestRewriteErrors(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	_, err := catalog.Rewrite([]byte(written), func(*catalog.Runtime, catalog.FunctionID) error { return down })
	if !errors.Is(err, down) || err.Error() != "line 20: runtime starlark of g/A: down" {
		t.Error(err)
	}
	_, err = catalog.Rewrite([]byte(written), func(rt *catalog.Runtime, _ catalog.FunctionID) error {
		rt.Spec = nil
		return nil
	})
	if err == nil || err.Error() != "line 20: runtime starlark of g/A: the edit left no spec" {
		t.Error(err)
	}
	_, err = catalog.Rewrite([]byte(head+"kind: Catalog\n"), func(*catalog.Runtime, catalog.FunctionID) error { return nil })
	if want := (*catalog.SyntaxErrors)(nil); !errors.As(err, &want) || err.Error() != "line 1: spec: missing" {
		t.Error(err)
	}
	_, err = catalog.Rewrite(nil, func(*catalog.Runtime, catalog.FunctionID) error { return nil })
	if err == nil || err.Error() != "the file is empty, want a Catalog" {
		t.Error(err)
	}
}

// TestRewriteAliases checks that shared content is edited once for each place that uses it.
func TestRewriteAliases(t *testing.T) {
	t.Parallel()
	calls := 0
	got, err := catalog.Rewrite([]byte(list(`
group: g
kind: A
versions:
- name: v2
  runtime: &r
    starlark: two
- name: v1
  runtime: *r
`)), func(rt *catalog.Runtime, at catalog.FunctionID) error {
		calls++
		rt.Spec.YNode().Value += " for " + at.Version
		return nil
	})
	if err != nil || calls != 2 {
		t.Fatalf("%d calls, %v", calls, err)
	}
	want := list(`
group: g
kind: A
versions:
- name: v2
  runtime:
    starlark: two for v2
- name: v1
  runtime:
    starlark: two for v1
`)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}
