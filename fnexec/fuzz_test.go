package fnexec_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"", "---\n", cm("a"), cm("a") + "---\n" + cm("b"), bomb(),
		"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {kind: A}\nresults: [{message: a}]\n",
		"kind: A\na: &a [*a]\n", "kind: A\n<<: [{a: 1}, {b: 2}]\n", "{\"kind\": \"A\"}", `{"kind":"A","a":"\ud83d\ude00\/\ud83d"}`, "---\n{\n\t\"kind\": \"A\"\n}\n", "kind: A\r\x7fx", "kind: &k A\n*k : b\n",
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
			return // not everything that can be parsed can be printed
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
		if err != nil || yamldoc.Flatten(n.YNode()) != nil {
			return
		}
		results, _ := fnexec.DecodeResults(n)
		if len(results) == 0 && n.YNode().Kind == yaml.SequenceNode && len(n.Content()) > 0 && n.Content()[0].Kind == yaml.ScalarNode {
			t.Error("a text was lost")
		}
		for _, r := range results {
			_ = r.String()
		}
		if _, err := fnexec.ResultsFile(results); err != nil {
			t.Error(err)
		}
	})
}

// FuzzJSON checks that the YAML parser reads all that encoding/json accepts in the same way.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`"\ud83d\ude00"`, `"\ud83d"`, `"\ud83d\u0041"`, `"\ude00\ud83d"`, `"a\/b\\/\""`, `"\ud83d\\ude00"`,
		"{\n\t\"a\": [\t1]\n}", "\"\x7f\"", `"\u2028\u0085\u0000"`, "\"\u009a\ufffe\uffff\ufeff\u0085\u2028\"", `{"a":1e400,"b":-0,"c":12345678901234567890123}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want any
		if !utf8.Valid(data) || json.Unmarshal(data, &want) != nil {
			return
		}
		s, ok := want.(string)
		if !ok {
			return
		}
		doc := `{"apiVersion": "v1", "kind": "A", "x":` + "\t" + string(data) + `}`
		list, err := fnexec.Decode([]byte(doc))
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if got := list.Items[0].Field("x").Value.YNode().Value; got != s {
			t.Fatalf("%s: got %q, want %q", doc, got, s)
		}
	})
}

// FuzzKeepComments checks that keeping comments never changes a value.
func FuzzKeepComments(f *testing.F) {
	f.Add("a: # b\n  c: d # e\n# f\nlist:\n- x: 1 # g\n- y # h\n# i\n", "list:\n- y\n- x: 1\na: {c: d}\n")
	f.Add("# a\nb: c\n", "b: d\n# a\n")
	f.Fuzz(func(t *testing.T, in, out string) {
		from, err := yaml.Parse(in)
		if err != nil || yamldoc.Flatten(from.YNode()) != nil || from.YNode().Kind != yaml.MappingNode || from.Field("metadata") != nil {
			return
		}
		to, err := yaml.Parse(out)
		if err != nil || yamldoc.Flatten(to.YNode()) != nil || to.YNode().Kind != yaml.MappingNode || to.Field("metadata") != nil || to.Field("kind") != nil {
			return
		}
		to.YNode().Content = append(to.YNode().Content, node(t, "kind: A\nmetadata: {annotations: {config.k8s.io/id: '1'}}\n").Content()...)
		printed, err := to.String()
		if err != nil {
			return
		}
		plain, err := fnexec.Call(t.Context(), says(printed), fnexec.Input{Items: []*yaml.RNode{from.Copy()}})
		if err != nil {
			return
		}
		kept, err := fnexec.Call(t.Context(), says(printed), fnexec.Input{Items: []*yaml.RNode{from.Copy()}, KeepComments: true})
		if err != nil {
			t.Fatal(err)
		}
		want, werr := plain.Items[0].MarshalJSON()
		got, gerr := kept.Items[0].MarshalJSON()
		if werr == nil && (gerr != nil || string(want) != string(got)) {
			t.Errorf("%s became %s, %v", want, got, gerr)
		}
		text := kept.Items[0].MustString()
		if again, err := yaml.Parse(text); err == nil && werr == nil {
			if back, err := again.MarshalJSON(); err == nil && string(back) != string(got) {
				t.Errorf("%s reads as %s:\n%s", got, back, text)
			}
		}
	})
}
