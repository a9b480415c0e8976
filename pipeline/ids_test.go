package pipeline

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"
)

// What is written without a printer of YAML is what the printer writes.
func TestIDTextIsThatOfAPrinter(t *testing.T) {
	t.Parallel()
	words := []string{
		"", "app", "app-1", "apps", "rbac.authorization.k8s.io", "v1", "V1Beta1", "1", "007", "1.5", "1e3", "e1", "1_000",
		"0x1f", "0o7", "-1", "-", "--", ".", "..", ".inf", "inf", ".nan", "NaN", "null", "Null", "nulls", "~", "true", "TRUE",
		"yes", "No", "on", "OFF", "y", "N", "truely", "2001-01-01", "12:30:45", "a:b", "a: b", "a:", ":a", "a #b", "a#b", "#a",
		"a b", " a", "a ", "a\nb", "a\tb", "'a'", `"a"`, "a'b", "{a}", "[a]", "a,b", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`",
		"?", "=", "<<", "größe", "名前", "a\u0085b", "a\u2028b", "\xff", "a_b", "a/b", "-a", ".a", "a.", "a-",
		strings.Repeat("long-", 60), strings.Repeat("long ", 60),
	}
	names := []string{"group", "kind", "name", "namespace", "version"}
	for i, name := range names {
		for j, word := range words {
			fields := make([][2]string, len(names))
			want := map[string]string{}
			for k, n := range names {
				fields[k] = [2]string{n, words[(j+k*7)%3+1]}
				if k == i {
					fields[k][1] = word
				} else if k%2 == j%2 {
					fields[k][1] = ""
				}
				if v := fields[k][1]; v != "" {
					want[n] = v
				}
			}
			printed, err := k8syaml.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := idText(fields)
			if diff := cmp.Diff(string(printed), got); err != nil || diff != "" {
				t.Errorf("%s %q: %v %s", name, word, err, diff)
			}
		}
	}
}

// The id is one annotation more, and the others stay as they are.
func TestWriteID(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app\n"
	const id = "    kustomize.config.k8s.io/id: |\n      group: apps\n      kind: Deployment\n      name: app\n      version: v1\n"
	for _, test := range []struct{ in, want string }{
		{head, head + "  annotations:\n" + id},
		{head + "  annotations: {}\n", head + "  annotations:\n" + id},
		{head + "  annotations:\n    a: \"1\" # one\n", head + "  annotations:\n    a: \"1\" # one\n" + id},
		{head + "  annotations: {a: b}\n", head + "  annotations:\n    a: b\n" + id},
		{
			head + "  annotations:\n    kustomize.config.k8s.io/id: old\n    a: b\n",
			head + "  annotations:\n" + id + "    a: b\n",
		},
	} {
		n := yaml.MustParse(test.in)
		for range 2 {
			if err := writeID(n); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(test.want, n.MustString()); diff != "" {
			t.Error(diff)
		}
	}
	null := yaml.MustParse(head + "  annotations:\n")
	if err := writeID(null); err != nil || len(null.GetAnnotations()) != 1 {
		t.Errorf("null annotations: %v: %s", err, null.MustString())
	}
	if err := writeID(yaml.MustParse(head + "  annotations: [a]\n")); err == nil {
		t.Error("a list of annotations is taken for a mapping")
	}
}

// Each function of a Composition is told the current id, which is gone in the end.
func TestCompositionTellsIDs(t *testing.T) {
	t.Parallel()
	fsys := filesys.MakeFsInMemory()
	for name, text := range map[string]string{
		"composition.yaml": "kind: Composition\ntransformers:\n" +
			"- {kind: ResourceGenerator, metadata: {name: r}, files: [cm.yaml]}\n" +
			"- {apiVersion: example.com/v1, kind: Fn, metadata: {name: one}}\n" +
			"- {apiVersion: example.com/v1, kind: Fn, metadata: {name: two}}\n",
		"cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: first\n  namespace: \"1\"\n",
	} {
		if err := fsys.WriteFile("/t/"+name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	tgt, err := Load(t.Context(), fsys, "/t", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	items, err := tgt.Build(t.Context(), func(_ context.Context, _ int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		seen = append(seen, items[0].GetAnnotations()[idKey])
		return items, items[0].PipeE(yaml.Lookup("metadata"), yaml.SetField("name", yaml.NewStringRNode("second")))
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"kind: ConfigMap\nname: first\nnamespace: \"1\"\nversion: v1\n",
		"kind: ConfigMap\nname: second\nnamespace: \"1\"\nversion: v1\n",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	if notes := items[0].GetAnnotations(); len(notes) > 0 {
		t.Errorf("left behind: %v", notes)
	}
}
