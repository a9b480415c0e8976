package pipeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/pipeline"
)

// choices makes decisions of bytes; when they have run out, the first of everything.
type choices []byte

func (c *choices) below(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := (*c)[0]
	*c = (*c)[1:]
	return int(b) % n
}

func (c *choices) of(from ...string) string { return from[c.below(len(from))] }

// text is a string that a careless printer would make something else of.
func (c *choices) text() string {
	return c.of("plain", "on", "0x10", "1e3", "~", "null", "# no comment", "- no item", "a: b", "two\nlines\n", "\n  leading", "trailing \n\n",
		"'\"\\", "", "---\nkind: Composition\n", "{a: [", "\u2028\u0085\ttab", "&a *a", "2026-01-01", "!!int 3", "very "+strings.Repeat("long ", 40), "=", "<<")
}

func quoted(s string) string {
	j, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(j)
}

// transformer writes one of the transformers of a Composition.
func (c *choices) transformer(name string) string {
	switch c.below(7) {
	case 1:
		return fmt.Sprintf("{apiVersion: builtin, kind: PatchTransformer, metadata: {name: %s}, path: %s}", name, c.of("p.yaml", "./p.yaml", "../l0/p.yaml"))
	case 2:
		return fmt.Sprintf("{kind: ConfigMapGenerator, metadata: {name: %s}, files: [p.yaml, k=p.yaml], literals: [%s]}", name, quoted("l="+c.text()))
	case 3:
		return fmt.Sprintf("{kind: ResourceAccumulator, metadata: {name: %s}, paths: [r.yaml]}", name)
	case 4:
		return fmt.Sprintf("{kind: Kustomization, metadata: {name: %s}, resources: [r.yaml], namePrefix: %s}", name, c.of("a-", "b-"))
	}
	runtime := c.of("", "runtime: {starlark: f.star}, ", "runtime: {exclude: [{kind: A, labels: {a: "+quoted(c.text())+"}}, {}]}, ", "runtime: {exec: {path: ./f, args: [010, "+quoted(c.text())+"]}}, ",
		"runtime: {starlark: {path: '../l0/f.star'}, deferFailure: true}, ")
	return fmt.Sprintf("{apiVersion: example.com/v1, kind: Fn, metadata: {name: %s}, %sspec: {text: %s, n: %s, list: [a]}}",
		name, runtime, quoted(c.text()), c.of("1", "1.5", "0o17", "true", "1e300", "18446744073709551615", "~", "2026-01-01"))
}

// compositions lays out Compositions in /t/l0, /t/l1, …, each of which imports some of
// those before it, and gives the directory of the last one.
func (c *choices) compositions(fsys filesys.FileSystem) (string, error) {
	levels, all := 2+c.below(4), [][]string{}
	for i := range levels {
		var b strings.Builder
		b.WriteString(c.of("", "apiVersion: kustomize.config.k8s.io/v1alpha1\n") + "kind: Composition\n" +
			c.of("", "catalogs: ['oci-layout://store:x', ../l0/c.yaml]\n", "metadata: {name: "+quoted("n"+c.text())+"}\n"))
		var reach []string
		if i > 0 {
			b.WriteString("transformersFrom:\n")
		}
		for k := range min(i, 1+c.below(2)) {
			from := (i - 1 - k + c.below(i)) % i
			fmt.Fprintf(&b, "- {path: ../l%d, importMode: %s}\n", from, c.of("prepend", "append"))
			reach = append(reach, all[from]...)
		}
		if len(reach) > 0 && c.below(2) == 1 {
			fmt.Fprintf(&b, "transformerOverrides:\n- {apiVersion: example.com/v1, kind: Fn, metadata: {name: %s}, %sspec: %s}\n", reach[c.below(len(reach))],
				c.of("", "runtime: {exec: {path: ./o}}, ", "runtime: null, "), c.of("{more: "+quoted(c.text())+"}", "{list: [b, {c: d}]}", "{text: null}", "{n: {deep: [0]}}"))
		}
		var own []string
		b.WriteString(c.of("transformers", "modules") + ":\n")
		for j := range c.below(4) {
			name := fmt.Sprintf("t%d-%d", i, j)
			own = append(own, name)
			b.WriteString("- " + c.transformer(name) + "\n")
		}
		all = append(all, append(reach, own...))
		files := map[string]string{"composition.yaml": b.String(), "r.yaml": fn("R", fmt.Sprintf("r%d", i)), "p.yaml": fn("R", "r0"), "f.star": "", "f": ""}
		for name, text := range files {
			if err := fsys.WriteFile(fmt.Sprintf("/t/l%d/%s", i, name), []byte(text)); err != nil {
				return "", err
			}
		}
	}
	return fmt.Sprintf("/t/l%d", levels-1), nil
}

// stepsOf lists what a target asks for, without the places of declarations.
func stepsOf(t *testing.T, fsys filesys.FileSystem, dir string) []string {
	t.Helper()
	tgt, err := pipeline.Load(context.Background(), fsys, dir, pipeline.Options{LoadAnywhere: true})
	if err != nil {
		return []string{"error"}
	}
	var out []string
	for _, s := range tgt.Steps() {
		one := s.ID.String() + " " + s.Name + "\n" + s.Config.MustString()
		if s.Inline != nil {
			one += fmt.Sprintln(s.Inline.Kind, s.Inline.DeferFailure)
		}
		out = append(out, one)
	}
	return out
}

// checkConsolidated saves the consolidated form in place of a Composition, and looks
// whether anything has changed. false where there is none.
func checkConsolidated(t *testing.T, data []byte) bool {
	c, fsys := choices(data), filesys.MakeFsInMemory()
	dir, err := c.compositions(fsys)
	if err != nil {
		t.Fatal(err)
	}
	first, err := pipeline.Consolidate(context.Background(), fsys, dir, pipeline.Options{LoadAnywhere: true})
	if err != nil {
		return false
	}
	text, err := first.YAML()
	if err != nil {
		t.Fatal(err)
	}
	want := stepsOf(t, fsys, dir)
	if err := fsys.WriteFile(dir+"/composition.yaml", text); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, stepsOf(t, fsys, dir)); diff != "" {
		t.Errorf("other steps:\n%s\n%s", diff, text)
	}
	second, err := pipeline.Consolidate(context.Background(), fsys, dir, pipeline.Options{LoadAnywhere: true})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	again, err := second.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(withoutComments(string(text)), withoutComments(string(again))); diff != "" {
		t.Errorf("consolidated twice it differs:\n%s", diff)
	}
	one, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	two, err := json.Marshal(second)
	if err != nil || string(one) != string(two) {
		t.Errorf("%v: as JSON it differs:\n%s\n%s", err, one, two)
	}
	return true
}

func FuzzConsolidated(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x03\x01\x01\x00\x01\x01\x02\x00\x01\x01\x01\x03\x05\x01\x00\x02\x06\x03\x07\x02"))
	f.Fuzz(func(t *testing.T, data []byte) { checkConsolidated(t, data) })
}

// TestConsolidatedIsAsGood runs some of what the fuzzer would.
func TestConsolidatedIsAsGood(t *testing.T) {
	t.Parallel()
	const runs = 400
	good, seed := 0, uint32(1)
	for range runs {
		data := make([]byte, 200)
		for i := range data {
			seed = seed*1664525 + 1013904223
			data[i] = byte(seed >> 24)
		}
		if checkConsolidated(t, data) {
			good++
		}
		if t.Failed() {
			t.Fatalf("with %q", data)
		}
	}
	if good < runs/4 {
		t.Errorf("only %d of %d could be consolidated", good, runs)
	}
}
