package render_test

import (
	"fmt"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/render"
)

// pipeline.Misfit must refuse exactly what cannot be printed. Otherwise krmcat would refuse output
// that kustomize prints.
func TestMisfitIsWhatCannotBePrinted(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	check := func(what string, n *yaml.RNode) {
		t.Helper()
		why := pipeline.Misfit(n)
		_, err := render.YAML([]*yaml.RNode{n})
		if (why != "") != (err != nil) {
			t.Errorf("%s: misfit %q, and printing says %v", what, why, err)
		}
		if why != "" && err != nil && err.Error() != "printing ConfigMap a: "+why {
			t.Errorf("%s: printing says %v, want %s", what, err, why)
		}
	}
	runes := []rune{0x2028, 0xd7ff, 0xe000, 0xfeff, 0xfffd, 0xfffe, 0xffff, 0x10000, 0x1fffe, 0x10ffff}
	for r := range rune(0x180) {
		runes = append(runes, r)
	}
	for _, r := range runes {
		text := "a" + string(r) + "b"
		for _, at := range []string{"k", text} {
			n := yaml.MustParse(head + "data: {}\n")
			if err := n.PipeE(yaml.Lookup("data"), yaml.SetField(at, yaml.NewStringRNode(text))); err != nil {
				t.Fatal(err)
			}
			check(fmt.Sprintf("%+q: %+q", at, text), n)
		}
	}
	for _, v := range []string{
		".inf", "-.INF", "+.Inf", ".nan", ".NaN", "inf", "nan", "-inf", "'.inf'", `".nan"`, "!!str .inf", "!!float .inf", ". inf", "[a, [b, .nan]]",
		"{[1]: 2}", "{1: 2}", "{null: 2}", "{.inf: 2}", "{true: 2}", "{'1': 2}", "{on: 2, y: 3}", "{2001-01-01: 2}", "{!!str 1: 2}", "{<<: {a: b}}", "1e999", "!!binary aGk=", "2001-01-01", "0x7f", "~",
	} {
		check(v, yaml.MustParse(head+"data: "+v+"\n"))
	}
}
