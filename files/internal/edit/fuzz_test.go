package edit_test

import (
	"bytes"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/files/internal/edit"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// docOf reads one document, and reports whether it can be edited.
func docOf(data []byte) (edit.Doc, bool) {
	source, err := yamldoc.Source(edit.Lines(data))
	if err != nil || source == nil || yamldoc.IsNull(source.Content[0]) {
		return edit.Doc{}, false
	}
	flat := edit.Copy(source.Content[0])
	if yamldoc.FlattenText(flat, len(data)) != nil || flat.Kind != yaml.MappingNode {
		return edit.Doc{}, false
	}
	return edit.Doc{Text: data, Source: source, Flat: flat}, true
}

// FuzzEdit: for any document and any value the text that comes out has the value, and stays as it is
// when it is edited again.
func FuzzEdit(f *testing.F) {
	docs := []string{
		"a: 1\nb: [x, y] # c\nc:\n- d: e\n  f: |\n    g\n    h\n",
		"---\n# head\na: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 'f'\n",
		"a: \"b\"\n? c\n: d\ne:\n  - f\n  - - g\n    - h\n  -\n    i: j\n",
		"{\"a\": [1, 2, {\"b\": null}], \"c\": true}",
		"a: >-\n  b\n  c\n\n  d\ne: 'f\n\n  g'\nh: i\n  j\n",
		"a:\r\n  b: c\r\n  # d\r\ne: ''\r\n", "a: |2+\n   x\n\n\n", "a: !!str 5\nb: !c {d: e}\n", "a:\nb: # c\n  d: e",
		"a: # b\n  # c\n  - d # e\n\n  # f\n  - g\n...\n", "\"a b\": 1\n'c': 2\n",
	}
	for _, a := range docs {
		for _, b := range docs {
			f.Add([]byte(a), []byte(b))
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		d, ok := docOf(a)
		w, wok := docOf(b)
		if !ok || !wok {
			return
		}
		check(t, d, w.Flat)
		mixed := edit.Copy(d.Flat)
		mix(mixed, w.Flat, 0)
		check(t, d, mixed)
	})
}

func check(t *testing.T, d edit.Doc, want *yaml.Node) {
	t.Helper()
	out, err := edit.Edit(d, want)
	if err != nil {
		t.Fatalf("%q to %s: %v", d.Text, show(want), err)
	}
	again, ok := docOf(out)
	if !ok || !edit.Same(again.Flat, want) {
		t.Fatalf("%q to %s: got %q", d.Text, show(want), out)
	}
	bare := edit.Copy(want)
	uncomment(bare)
	second, err := edit.Edit(again, bare)
	if err != nil || !bytes.Equal(second, out) {
		t.Fatalf("%q to %s, twice: got %q, then %q, %v", d.Text, show(want), out, second, err)
	}
}

func uncomment(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, c := range n.Content {
		uncomment(c)
	}
}

func show(n *yaml.Node) []byte {
	text, _ := edit.Print(n, false)
	return text
}

// mix puts some values of another tree into a tree.
func mix(to, from *yaml.Node, depth int) {
	for i := range to.Content {
		if to.Kind == yaml.MappingNode && i%2 == 0 || len(from.Content) == 0 {
			continue
		}
		other := from.Content[(i+depth)%len(from.Content)]
		switch {
		case len(to.Content[i].Content) > 0:
			mix(to.Content[i], other, depth+1)
		case (i+depth)%3 == 0:
			to.Content[i] = edit.Copy(other)
		}
	}
}
