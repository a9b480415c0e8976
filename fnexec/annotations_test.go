package fnexec_test

import (
	"slices"
	"testing"

	"github.com/krmcat/krmcat/fnexec"
)

const (
	internalPath = "internal.config.kubernetes.io/path"
	legacyPath   = "config.kubernetes.io/path"
)

func TestPathAnnotations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in     string
		r      fnexec.Runner
		want   string
		errors bool
	}{
		"kept, new name":            {cm("a", internalPath, "a.yaml"), echo(), cm("a", internalPath, "a.yaml"), false},
		"kept, old name":            {cm("a", legacyPath, "a.yaml"), echo(), cm("a", legacyPath, "a.yaml"), false},
		"changed under old name":    {cm("a", internalPath, "a.yaml"), edits(" "+legacyPath+": 'a.yaml'", " "+legacyPath+": 'b.yaml'"), cm("a", internalPath, "b.yaml"), false},
		"changed under new name":    {cm("a", legacyPath, "a.yaml"), edits(internalPath+": 'a.yaml'", internalPath+": 'b.yaml'"), cm("a", legacyPath, "b.yaml"), false},
		"changed to the same value": {cm("a", legacyPath, "a.yaml"), edits("a.yaml", "b.yaml"), cm("a", legacyPath, "b.yaml"), false},
		"changed to different values": {cm("a", internalPath, "a.yaml"),
			edits(" "+internalPath+": 'a.yaml'", " "+internalPath+": 'c.yaml'", " "+legacyPath+": 'a.yaml'", " "+legacyPath+": 'b.yaml'"), "", true},
		"different in the input": {cm("a", internalPath, "a.yaml", legacyPath, "b.yaml"), echo(), "", true},
		"removed":                {cm("a", internalPath, "a.yaml"), edits("      "+internalPath+": 'a.yaml'\n", "", "      "+legacyPath+": 'a.yaml'\n", ""), cm("a"), false},
		"generated":              {cm("a", legacyPath, "a.yaml"), says(cm("new", internalPath, "n.yaml")), cm("new", legacyPath, "n.yaml"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := fnexec.Call(t.Context(), c.r, fnexec.Input{Items: nodes(t, c.in)})
			if c.errors != (err != nil) {
				t.Fatalf("got the error %v", err)
			}
			if got := text(t, out.Items); err == nil && got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestEmptyMetadata checks that empty metadata is returned unchanged, with nothing added.
func TestEmptyMetadata(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"kind: A\n", "kind: A\nmetadata: {}\n", "kind: A\nmetadata: null\n", "kind: A\nmetadata:\n  annotations: {}\n",
		"kind: A\nmetadata:\n  name: a\n", "kind: A\nmetadata:\n  name: a\n  annotations: null\n",
	} {
		for name, r := range map[string]fnexec.Runner{"kept": echo(), "new": says(s)} {
			out, err := fnexec.Call(t.Context(), r, fnexec.Input{Items: nodes(t, s)})
			if err != nil {
				t.Fatal(err)
			}
			fnexec.StripAnnotations(out.Items)
			if got := text(t, out.Items); got != s {
				t.Errorf("%s: got\n%s\nwant\n%s", name, got, s)
			}
		}
	}
}

// TestFrom checks which item of the input an item of the output is, by the rules of kyaml: by the
// new name of the id, or else by the legacy one.
func TestFrom(t *testing.T) {
	t.Parallel()
	const id, legacy = "internal.config.kubernetes.io/id", "config.k8s.io/id"
	for name, c := range map[string]struct {
		r    fnexec.Runner
		want []int
	}{
		"kept":                {echo(), []int{0, 1, 2}},
		"new":                 {says(cm("x")), []int{-1}},
		"in another order":    {says(cm("c", id, "3") + "---\n" + cm("x") + "---\n" + cm("a", id, "1")), []int{2, -1, 0}},
		"the legacy id":       {says(cm("b", legacy, "2")), []int{1}},
		"both, and differing": {says(cm("b", id, "1", legacy, "2")), []int{0}},
		"an unknown id":       {says(cm("b", id, "9", legacy, "2")), []int{-1}},
		"ids dropped":         {edits("      "+id+": '2'\n", "", "      "+legacy+": '2'\n", ""), []int{0, -1, 2}},
		"an id twice":         {says(cm("a", id, "1") + "---\n" + cm("copy", id, "1")), []int{0, 0}},
		"nothing":             {says(""), nil},
		"nothing, deferred":   {exits(1, ""), []int{0, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := fnexec.Input{Items: nodes(t, cm("a"), cm("b"), cm("c")), DeferFailure: true}
			out, err := fnexec.Call(t.Context(), c.r, in)
			if err != nil || len(out.From) != len(out.Items) || !slices.Equal(out.From, c.want) {
				t.Errorf("got %v for %d items, %v; want %v", out.From, len(out.Items), err, c.want)
			}
			for i, item := range out.Items {
				if a := item.GetAnnotations(); a[id] != "" || a[legacy] != "" {
					t.Errorf("item %d keeps its id: %v", i, a)
				}
			}
		})
	}
}
