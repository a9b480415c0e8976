package fnexec_test

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/safeyaml"
)

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"", "---\n", cm("a"), cm("a") + "---\n" + cm("b"), bomb(),
		"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {kind: A}\nresults: [{message: a}]\n",
		"kind: A\na: &a [*a]\n", "kind: A\n<<: [{a: 1}, {b: 2}]\n", "{\"kind\": \"A\"}", "kind: &k A\n*k : b\n",
		"%YAML 1.1\n---\nkind: A\n...\n", "kind: A\nx: !!binary aGk=\n", "? [a]\n: b\n", "kind: !!map {a: b}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := fnexec.Decode(data)
		if err != nil {
			return
		}
		_, _ = fnexec.DecodeResults(list.Results)
		again, err := list.Encode()
		if err != nil {
			return // what YAML can read it cannot always print
		}
		if _, err := fnexec.Decode(again); err != nil && len(list.Items) > 0 {
			t.Logf("does not come back: %v", err)
		}
	})
}

func FuzzDecodeResults(f *testing.F) {
	for _, s := range []string{"[]", "- message: a", "items: [{message: a, severity: warn}]", "- {name: a, items: [{message: b, file: {index: 1e9}}]}",
		"- {message: a, field: {currentValue: {? [a] : b}}}", "- {message: a, field: {currentValue: .nan}}", "- *a"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := yaml.Parse(string(data))
		if err != nil || safeyaml.Flatten(n.YNode()) != nil {
			return
		}
		results, _ := fnexec.DecodeResults(n)
		for _, r := range results {
			_ = r.String()
		}
		if _, err := fnexec.ResultsFile(results); err != nil {
			t.Error(err)
		}
	})
}
