package resource

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
			if err := WriteID(n); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(test.want, n.MustString()); diff != "" {
			t.Error(diff)
		}
	}
	null := yaml.MustParse(head + "  annotations:\n")
	if err := WriteID(null); err != nil || len(null.GetAnnotations()) != 1 {
		t.Errorf("null annotations: %v: %s", err, null.MustString())
	}
	if err := WriteID(yaml.MustParse(head + "  annotations: [a]\n")); err == nil {
		t.Error("a list of annotations is taken for a mapping")
	}
}
