package pages

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/pipeline"
)

// TestCompositionsOnThePagesAreConsolidated checks that the Compositions of the page are
// consolidated as it shows, and that the result can replace its source.
func TestCompositionsOnThePagesAreConsolidated(t *testing.T) {
	t.Parallel()
	fsys := filesys.MakeFsInMemory()
	write := func(file, text string) {
		if err := fsys.WriteFile("/t/"+file, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	consolidated := func(dir string) string {
		c, err := pipeline.Consolidate(t.Context(), fsys, "/t/"+dir, pipeline.Options{LoadAnywhere: true})
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	found := 0
	write("app/patch.yaml", "kind: ConfigMap\n") // the page need not show this file
	for _, b := range blocks(page(t, "docs/formats.md")) {
		if file, ok := strings.CutPrefix(b.info, "yaml composition="); ok {
			write(file, b.text)
		}
		dir, ok := strings.CutPrefix(b.info, "yaml consolidated=")
		if !ok {
			continue
		}
		found++
		if diff := cmp.Diff(b.text, consolidated(dir)); diff != "" {
			t.Errorf("docs/formats.md, line %d:\n%s", b.line, diff)
		}
		write(dir+"/composition.yaml", b.text)
		if diff := cmp.Diff(withoutComments(b.text), withoutComments(consolidated(dir))); diff != "" {
			t.Errorf("docs/formats.md, line %d: a second consolidation gives another result:\n%s", b.line, diff)
		}
	}
	if found == 0 {
		t.Error("docs/formats.md shows no consolidated Composition")
	}
}

func withoutComments(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			out.WriteString(line)
		}
	}
	return out.String()
}
