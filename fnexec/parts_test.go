package fnexec

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// FuzzParts compares the parallel reader, with parts as small as can be, with the plain
// one: it may say no, and must never read something else.
func FuzzParts(f *testing.F) {
	head := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
	for _, s := range []string{
		"- kind: A\n- kind: B\n  x: |\n    - kind: C\n- kind: D\n",
		"- kind: A\n  x: \"a\n- kind: B\"\n- kind: C\n",
		"- kind: A\n  x: 'a\n\n- kind: B\n'\n- kind: C\n",
		"- kind: A\n  x: {a: [\n- kind, B]}\n- kind: C\n",
		"- kind: A\n  x: |1\n - kind: B\n- kind: C\nfunctionConfig: {a: b}\nresults: []\n",
		"- &a {kind: A}\n- *a\n- &a {kind: B}\n- *a\n",
		"- kind: A\n# c\n- kind: B\n\n- kind: C\n...\n",
		"- kind: A\n- |\n  - b\n- ? kind\n  : B\n-\n  kind: C\n",
		"- kind: A\n  x: a\n- b\n- kind: B\n",
		"- kind: A\n  x: >-\n\n\n    a\n- kind: B\n  y: |+\n\n\n- kind: C\n",
	} {
		f.Add([]byte(head + s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := decodeParts(data, 8)
		if !ok {
			return
		}
		want, err := decodeWhole(data)
		if err != nil {
			t.Fatalf("read in parts what cannot be read as a whole: %v", err)
		}
		if len(got.Items) != len(want.Items) {
			t.Fatalf("got %d items, want %d", len(got.Items), len(want.Items))
		}
		for i := range got.Items {
			if !equal(got.Items[i].YNode(), want.Items[i].YNode()) {
				t.Fatalf("item %d differs", i)
			}
		}
	})
}

// equal compares what two trees say.
func equal(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !equal(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
