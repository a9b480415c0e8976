package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/pipeline"
)

// kptItems returns the resources of files, as a directory has them: FILE: TEXT in turn.
func kptItems(files ...string) (items []*yaml.RNode, packages []string) {
	for i := 0; i+1 < len(files); i += 2 {
		for j, text := range strings.Split(files[i+1], "---\n") {
			n := yaml.MustParse(text)
			put(n, files[i], fmt.Sprint(j))
			items = append(items, n)
		}
		if dir, ok := strings.CutSuffix("/"+files[i], "/Kptfile"); ok {
			packages = append(packages, strings.TrimPrefix(dir, "/"))
		}
	}
	return items, packages
}

const kptHead = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\n"

// kptPackage is a package with two below, one in the other.
func kptPackage(notes string) (items []*yaml.RNode, packages []string) {
	mutator := "pipeline: {mutators: [{exec: %s a 'b c'}], validators: [{exec: check}]}\n"
	return kptItems(
		"Kptfile", strings.Replace(kptHead, "name: p", "name: p, annotations: {"+notes+"}", 1)+fmt.Sprintf(mutator, "top"),
		"a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
		"sub/deep/Kptfile", kptHead+fmt.Sprintf(mutator, "deep"),
		"sub/deep/c.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}",
		"sub/Kptfile", kptHead+fmt.Sprintf(mutator, "sub"),
		"sub/b.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}",
		"z.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: z}}",
	)
}

// calledBy records the Steps of a package, and what each saw.
func calledBy(t *testing.T, p *pipeline.KptPackage) string {
	t.Helper()
	var b strings.Builder
	_, err := p.Build(t.Context(), func(_ context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		s := p.Steps()[i]
		fmt.Fprintf(&b, "%s %s:", s.Where, s.Name)
		for _, n := range items {
			b.WriteString(" " + n.GetAnnotations()["internal.config.kubernetes.io/path"])
		}
		b.WriteString("\n")
		return items, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestKptOrder(t *testing.T) {
	t.Parallel()
	deep := "in/sub/deep/Kptfile:4 deep a 'b c': Kptfile c.yaml\nin/sub/deep/Kptfile:4 check: Kptfile c.yaml\n"
	sub := "in/sub/Kptfile:4 sub a 'b c': Kptfile b.yaml deep/Kptfile deep/c.yaml\nin/sub/Kptfile:4 check: Kptfile b.yaml deep/Kptfile deep/c.yaml\n"
	all := "Kptfile a.yaml z.yaml sub/Kptfile sub/b.yaml sub/deep/Kptfile sub/deep/c.yaml\n"
	top := "in/Kptfile:4 top a 'b c': " + all + "in/Kptfile:4 check: " + all
	for notes, want := range map[string]string{
		"": deep + sub + top, "kpt.dev/bfs-rendering: 'true'": top + sub + deep, "kpt.dev/bfs-rendering: 'yes'": deep + sub + top,
	} {
		items, packages := kptPackage(notes)
		p, err := pipeline.Kpt(items, packages, pipeline.KptOptions{Dir: "/d", Display: "in"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, calledBy(t, p)); diff != "" {
			t.Errorf("%s: %s", notes, diff)
		}
	}
}

// TestKptSteps: what a Kptfile names is what binds, and nothing of it is a flag's.
func TestKptSteps(t *testing.T) {
	t.Parallel()
	items, packages := kptItems("Kptfile", kptHead+`pipeline:
  mutators:
    - image: set-labels:v0.1
      tag: v0.2
      configMap: {z: 1, a: x}
    - image: example.com/x/y@sha256:0
      name: named
    - exec: fn 'a b'
      configPath: conf/values.yaml
      selectors: [{kind: ConfigMap}]
`, "conf/values.yaml", "apiVersion: e/v1\nkind: Values # c\nmetadata: {name: v}\n")
	p, err := pipeline.Kpt(items, packages, pipeline.KptOptions{Dir: "/d", ImagePrefix: "example.com/p/", Network: true})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, s := range p.Steps() {
		fmt.Fprintf(&got, "%s %s %s %s %s", s.ID, s.Name, s.Role, s.Dir, s.Inline.Kind)
		fmt.Fprintf(&got, " %s", strings.ReplaceAll(s.Inline.Spec.MustString(), "\n", " "))
		if s.Config != nil {
			fmt.Fprintf(&got, "| %s", strings.ReplaceAll(s.Config.MustString(), "\n", " "))
		}
		if s.Latest != nil {
			fmt.Fprintf(&got, "| %s", s.Latest.File)
		}
		if s.Inline.Flag != "" || !s.InFiles {
			t.Errorf("%s: flag %q, in files %v", s.Name, s.Inline.Flag, s.InFiles)
		}
		got.WriteString("\n")
	}
	want := `v1/ConfigMap set-labels:v0.1 transformer /d container image: example.com/p/set-labels:v0.2 network: true | apiVersion: v1 kind: ConfigMap metadata:   name: function-input data:   z: "1"   a: x ` + `
kpt.dev/v1/Function named transformer /d container image: example.com/x/y@sha256:0 network: true ` + `
e/v1/Values fn 'a b' transformer /d exec args: - a b path: fn | apiVersion: e/v1 kind: Values # c metadata: {name: v} | conf/values.yaml
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestKptRefuses(t *testing.T) {
	t.Parallel()
	uses := func(fields string) string { return kptHead + "pipeline: {mutators: [{" + fields + "}]}\n" }
	values := "{apiVersion: v1, kind: ConfigMap, metadata: {name: v}}\n"
	for name, c := range map[string]struct {
		files []string
		kind  failure.Kind
		want  string
	}{
		"every Kptfile":      {[]string{"Kptfile", kptHead + "x: y\n", "s/Kptfile", kptHead + "z: y\n"}, failure.Unexpected, "s/Kptfile:4"},
		"two documents":      {[]string{"Kptfile", kptHead + "---\n" + kptHead}, failure.Unexpected, "one document"},
		"missing config":     {[]string{"Kptfile", uses("exec: f, configPath: v.yaml")}, failure.NotFound, "Kptfile:4: configPath: v.yaml is no file of the package"},
		"config below":       {[]string{"Kptfile", uses("exec: f, configPath: s/v.yaml"), "s/Kptfile", kptHead, "s/v.yaml", values}, failure.NotFound, "is no file of the package"},
		"config of two":      {[]string{"Kptfile", uses("exec: f, configPath: v.yaml"), "v.yaml", values + "---\n" + values}, failure.Unexpected, "has 2 resources"},
		"constraint":         {[]string{"Kptfile", uses("image: f, tag: ~1.2")}, failure.Unexpected, "constraint on versions"},
		"another apiVersion": {[]string{"Kptfile", "{apiVersion: v1, kind: Kptfile}\n"}, failure.Unexpected, "must be kpt.dev/v1"},
	} {
		items, packages := kptItems(c.files...)
		_, err := pipeline.Kpt(items, packages, pipeline.KptOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) || failure.Of(err) != c.kind {
			t.Errorf("%s: got %v, want %s: %s", name, err, c.kind, c.want)
		}
	}
}

// TestKptConfig: a function gets its functionConfig as the functions before it left it.
func TestKptConfig(t *testing.T) {
	t.Parallel()
	items, packages := kptItems("Kptfile", kptHead+"pipeline: {mutators: [{exec: a}, {exec: b, configPath: ./v.yaml}, {exec: c}, {exec: d, configPath: v.yaml}]}\n",
		"v.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: v}, data: {n: old}}")
	p, err := pipeline.Kpt(items, packages, pipeline.KptOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	_, err = p.Build(t.Context(), func(_ context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		s := p.Steps()[i]
		if s.Latest != nil {
			got[s.Name] = s.Latest.Config.MustString()
		}
		switch s.Name {
		case "a":
			items[1].SetDataMap(map[string]string{"n": "new"})
		case "c":
			items = items[:1]
		}
		return items, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got["b"], "n: new") || strings.Contains(got["b"], "annotations") {
		t.Errorf("after a change: %s", got["b"])
	}
	if got["d"] != "" && !strings.Contains(got["d"], "null") {
		t.Errorf("after it was removed: %s", got["d"])
	}
}

// TestKptLost: a function must not remove the Kptfile of the package.
func TestKptLost(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func([]*yaml.RNode) []*yaml.RNode{
		"everything": func([]*yaml.RNode) []*yaml.RNode { return nil },
		"it":         func(l []*yaml.RNode) []*yaml.RNode { return l[1:] },
		"moved":      func(l []*yaml.RNode) []*yaml.RNode { put(l[0], "other", ""); return l },
	} {
		items, packages := kptItems("Kptfile", kptHead+"pipeline: {mutators: [{exec: a}]}\n", "v.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: v}}")
		p, err := pipeline.Kpt(items, packages, pipeline.KptOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Build(t.Context(), func(_ context.Context, _ int, items []*yaml.RNode) ([]*yaml.RNode, error) { return do(items), nil })
		if !errors.Is(err, failure.Function) || !strings.Contains(err.Error(), "it removed the Kptfile") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKptPartial: the resources before a failure are kept if the package says so.
func TestKptPartial(t *testing.T) {
	t.Parallel()
	for notes, want := range map[string]bool{"": false, "kpt.dev/save-on-render-failure: 'true'": true} {
		items, packages := kptPackage(notes)
		p, err := pipeline.Kpt(items, packages, pipeline.KptOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Build(t.Context(), func(_ context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
			for _, n := range items {
				if err := n.PipeE(yaml.SetAnnotation("call", fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			}
			if i == 2 {
				return nil, errors.New("no")
			}
			return items, nil
		})
		if err == nil {
			t.Fatal("it did not fail")
		}
		got := p.Partial()
		if !want {
			if got != nil {
				t.Error("resources are kept")
			}
			continue
		}
		calls := slices.Collect(func(yield func(string) bool) {
			for _, n := range got {
				if !yield(n.GetName() + n.GetAnnotations()["call"]) {
					return
				}
			}
		})
		if diff := cmp.Diff([]string{"p", "a", "z", "p", "b", "p0", "c0"}, calls); diff != "" {
			t.Error(diff)
		}
	}
}

// TestKptStatus: the status is that of the package that was rendered.
func TestKptStatus(t *testing.T) {
	t.Parallel()
	items, packages := kptPackage("")
	p, err := pipeline.Kpt(items, packages, pipeline.KptOptions{Dir: "/d"})
	if err != nil {
		t.Fatal(err)
	}
	fresh, _ := kptPackage("")
	has, err := p.WriteStatus(fresh, []pipeline.KptCall{{Step: 0}, {Step: 1, Exit: 1, Stderr: "no"}}, fmt.Errorf("in %s: no\nat all", "/d/sub"))
	if err != nil || !has {
		t.Fatal(has, err)
	}
	text := fresh[0].MustString()
	for _, want := range []string{"message: |-\n      in ./sub: no\n      at all\n", "mutationSteps:\n    - exec: deep a 'b c'\n", "validationSteps:\n    - exec: check\n      stderr: no\n", "errorSummary: 'check: exit code 1'"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if strings.Contains(fresh[4].MustString(), "status") {
		t.Error("a package below has a status")
	}
	old, packages := kptItems("Kptfile", strings.Replace(kptHead, "v1", "v1alpha2", 1))
	if p, err = pipeline.Kpt(old, packages, pipeline.KptOptions{}); err != nil {
		t.Fatal(err)
	}
	if has, err := p.WriteStatus(old, nil, nil); has || err != nil {
		t.Errorf("v1alpha2 has a status: %v", err)
	}
}
