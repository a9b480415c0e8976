package kptfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/kptfile"
	"github.com/krmcat/krmcat/pipeline/internal/selector"
)

const head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n"

// mutator returns a Kptfile with one mutator, whose fields are written in a line.
func mutator(fields string) string {
	return head + "pipeline:\n  mutators:\n    - {" + fields + "}\n"
}

func TestDecode(t *testing.T) {
	t.Parallel()
	k, err := kptfile.Decode("Kptfile", []byte(strings.Replace(head, "name: p", "name: p\n  annotations: {kpt.dev/bfs-rendering: 'True', kpt.dev/save-on-render-failure: true}", 1)+`pipeline:
  mutators:
    - image: set-labels
      tag: ~0.1
      name: labels
      configMap:
        z: text
        a: 1
        b: true
        c:
      selectors:
        - kind: Deployment
          labels: {n: 1}
      exclude:
        - name: 7
    - exec: fn 'a b' c
      configPath: ./conf/../conf/values.yaml
  validators:
    - image: gcr.io/kpt-fn/kubeval:v0.1
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(k.Mutators) != 2 || k.Mutators[0].Tag == nil || k.Mutators[0].Tag.Exact() {
		t.Fatalf("%+v", k)
	}
	k.Mutators[0].Tag = nil
	want := &kptfile.Kptfile{
		APIVersion: kptfile.V1, Name: "p", BreadthFirst: true, SaveOnFailure: true,
		Mutators: []kptfile.Function{
			{
				Line: 8, Name: "labels", Image: "set-labels", ConfigLine: 12,
				ConfigMap: []kptfile.Pair{{Key: "z", Value: "text"}, {Key: "a", Value: "1"}, {Key: "b", Value: "true"}, {Key: "c"}},
				Only: selector.Selection{
					Selectors: []selector.Selector{{Kind: "Deployment", Labels: map[string]string{"n": "1"}}},
					Exclude:   []selector.Selector{{Name: "7"}},
				},
			},
			{Line: 21, Command: "fn 'a b' c", Words: []string{"fn", "a b", "c"}, ConfigPath: "conf/values.yaml", ConfigLine: 22},
		},
		Validators: []kptfile.Function{{Line: 24, Image: "gcr.io/kpt-fn/kubeval:v0.1"}},
	}
	if diff := cmp.Diff(want, k); diff != "" {
		t.Error(diff)
	}
}

// TestDecodeErrors: one error for each mistake, with the place and what was meant.
func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "Kptfile: it is empty"},
		"two documents": {head + "---\nkind: Kptfile\n", "Kptfile:5: a second document begins"},
		"not a mapping": {"- a\n", "must be a mapping"},
		"kind":          {"apiVersion: v1\nkind: ConfigMap\n", `Kptfile:2: kind: must be Kptfile, not "ConfigMap"`},
		"version":       {"apiVersion: kpt.dev/v2\nkind: Kptfile\n", `Kptfile:1: apiVersion: must be kpt.dev/v1 or kpt.dev/v1alpha2, not "kpt.dev/v2"`},
		"old version":   {"apiVersion: kpt.dev/v1alpha1\nkind: Kptfile\n", "kpt before 1.0"},
		"no version":    {"kind: Kptfile\n", "apiVersion: missing"},
		"no name":       {"apiVersion: kpt.dev/v1\nkind: Kptfile\n", "metadata.name: missing"},
		"top":           {head + "pipelin: {}\n", `Kptfile:5: unknown field "pipelin", did you mean "pipeline"?`},
		"metadata":      {"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p, generation: 1}\n", `unknown field "generation"`},
		"upstream":      {head + "upstream: {git: {repos: x}}\n", `upstream.git: unknown field "repos", did you mean "repo"?`},
		"status":        {head + "status: {conditions: [{typ: x}]}\n", `status.conditions[0]: unknown field "typ", did you mean "type"?`},
		"list":          {head + "pipeline: {mutators: {}}\n", "pipeline.mutators: must be a list"},
		"empty entry":   {head + "pipeline: {mutators: [null]}\n", "pipeline.mutators[0]: a function is a mapping"},
		"function":      {mutator("image: a, configmap: {}"), `unknown field "configmap", did you mean "configMap"?`},
		"misspelt":      {mutator("imge: a"), `unknown field "imge", did you mean "image"?`},
		"neither":       {mutator("name: a"), "needs image or exec"},
		"both":          {mutator("image: a, exec: b"), "this has both"},
		"quote":         {mutator(`exec: "fn 'a"`), "cannot be divided into words"},
		"no program":    {mutator("exec: '  '"), "names no program"},
		"empty program": {mutator(`exec: "'' a"`), "names no program"},
		"tag":           {mutator("image: a, tag: a b"), "neither a tag of an image nor a constraint"},
		"tag of exec":   {mutator("exec: a, tag: v1"), "a tag is that of an image"},
		"pinned":        {mutator("image: 'a@sha256:0', tag: v1"), "the image is pinned by its digest"},
		"absolute":      {mutator("exec: a, configPath: /etc/x.yaml"), "is absolute"},
		"outside":       {mutator("exec: a, configPath: a/../../x.yaml"), "leads out of the package"},
		"backslash":     {mutator(`exec: a, configPath: 'a\..\..\x.yaml'`), "leads out of the package"},
		"itself":        {mutator("exec: a, configPath: ./Kptfile"), "is no file of a functionConfig"},
		"two configs":   {mutator("exec: a, configPath: x.yaml, configMap: {a: b}"), "this has both"},
		"nested":        {mutator("exec: a, configMap: {a: {b: c}}"), "configMap.a: must be a string, not a mapping"},
		"selector":      {mutator("exec: a, selectors: [{kinds: A}]"), `unknown field "kinds", did you mean "kind"?`},
		"null selector": {mutator("exec: a, exclude: [{kind: }]"), "it has no value"},
		"alpha2": {
			strings.Replace(mutator("exec: a"), "v1", "v1alpha2", 1), `unknown field "exec"`,
		},
		"twice": {head + "pipeline: {}\npipeline: {}\n", "is written twice"},
	} {
		_, err := kptfile.Decode("Kptfile", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
			continue
		}
		if failure.Of(err) != failure.Unexpected { // as mistakes in other targets
			t.Errorf("%s: its kind is %s: %v", name, failure.Of(err), err)
		}
		if n := strings.Count(err.Error(), "\n"); n > 0 {
			t.Errorf("%s: one mistake is %d errors: %v", name, n+1, err)
		}
	}
}

// TestDecodeAll: all mistakes are reported at once.
func TestDecodeAll(t *testing.T) {
	t.Parallel()
	_, err := kptfile.Decode("Kptfile", []byte(head+"inf: {}\npipeline:\n  mutators:\n    - exec: a\n      image: b\n    - name: c\n  validator: []\n"))
	var some *yamldoc.Errors
	if !errors.As(err, &some) || len(some.List) != 4 {
		t.Errorf("want 4 errors, got %v", err)
	}
}

// TestDecodeAlpha2 reads the format of the release candidates of kpt 1.0.
func TestDecodeAlpha2(t *testing.T) {
	t.Parallel()
	k, err := kptfile.Decode("Kptfile", []byte("apiVersion: kpt.dev/v1alpha2\nkind: Kptfile\nmetadata: {name: p, annotations: {kpt.dev/bfs-rendering: 'true'}}\ninfo: {doc: x}\npipeline: {mutators: [{image: a, configMap: {a: b}}]}\n"))
	if err != nil || len(k.Mutators) != 1 || k.BreadthFirst {
		t.Errorf("%v %v", k, err)
	}
}

// TestDecodeGoldens: what kpt reads is read, and what kpt refuses is refused, but for what is
// listed.
func TestDecodeGoldens(t *testing.T) {
	t.Parallel()
	other := map[string]string{
		"alpha2":          "kpt asks to migrate first",
		"kptfile-two":     "kpt loses the second document",
		"kptfile-no-name": "kpt refuses it at the first function",
		"exec-quote":      "kpt refuses it when the function runs",
		"exec-empty":      "kpt refuses it when the function runs",
	}
	archives, err := filepath.Glob("../../../e2e/kpt/testdata/*.txtar")
	if err != nil || len(archives) < 100 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	for _, path := range archives {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		var text, said string
		there := false
		for _, f := range a.Files {
			switch f.Name {
			case "in/Kptfile":
				text, there = string(f.Data), true
			case "kpt/stderr":
				said = string(f.Data)
			}
		}
		refused := strings.Contains(said, "can't be read") || strings.Contains(said, "old version") ||
			strings.Contains(said, "unknown resource type") || strings.HasPrefix(said, "Kptfile is invalid")
		// What needs other files or the grammar of images is not for this package.
		elsewhere := strings.HasPrefix(name, "config-path-m") || name == "config-path-non-krm" || name == "config-path-sub" || name == "image-invalid"
		if _, ok := other[name]; !there || ok || elsewhere {
			continue
		}
		if _, err := kptfile.Decode("Kptfile", []byte(text)); (err != nil) != refused {
			t.Errorf("%s: got %v, and kpt refused it: %v", name, err, refused)
		}
	}
}

func TestTag(t *testing.T) {
	t.Parallel()
	tags := []string{"latest", "v0.1", "v0.1.1", "v0.2.0", "0.2.3", "v0.2.4-rc1", "v1.0.0", "v0.2.9-git-abc", "sha256-0123", "v0.2"}
	for tag, want := range map[string]string{
		"~0.2": "0.2.3", "^0.1.0": "v0.1.1", ">=0.1, <1": "0.2.3", "*": "v1.0.0", "0.2.x": "0.2.3", "~3": "", "0.1 || 1": "v1.0.0",
	} {
		k, err := kptfile.Decode("Kptfile", []byte(mutator("image: a, tag: '"+tag+"'")))
		if err != nil {
			t.Errorf("%s: %v", tag, err)
			continue
		}
		got := k.Mutators[0].Tag
		if latest := got.Latest(tags); got.Exact() || latest != want {
			t.Errorf("%s: exact %v, %q, want %q", tag, got.Exact(), latest, want)
		}
	}
	for _, tag := range []string{"v0.2", "0.2.3", "v1", "latest", "main-1"} {
		k, err := kptfile.Decode("Kptfile", []byte(mutator("image: a, tag: '"+tag+"'")))
		if err != nil || !k.Mutators[0].Tag.Exact() {
			t.Errorf("%s: %v", tag, err)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	result := yaml.MustParse("message: bad\nseverity: error\n").YNode()
	for _, c := range []struct {
		name, text string
		status     kptfile.Status
		want       string
	}{
		{
			"new", head, kptfile.Status{},
			head + "status:\n  conditions:\n  - type: Rendered\n    status: \"True\"\n    reason: RenderSuccess\n",
		},
		{
			"others stay", "# head\nkind: Kptfile # k\nstatus:\n  # c\n  conditions:\n  - type: Rendered\n    status: old\n  - type: Other\n  renderStatus: {errorSummary: old}\n  # end\n",
			kptfile.Status{}, "# head\nkind: Kptfile # k\nstatus:\n  # c\n  conditions:\n  - type: Other\n  - type: Rendered\n    status: \"True\"\n    reason: RenderSuccess\n",
		},
		{
			"failed", "kind: Kptfile\nstatus: text\n",
			kptfile.Status{
				Failed: true, Message: "two\nlines",
				Mutations:  []kptfile.Called{{Name: "n", Image: "i"}, {Command: "fn a", Stderr: "said\n", ExitCode: 3}},
				Validators: []kptfile.Called{{Command: "fn b", Refusal: "not allowed", ExitCode: 1, Results: []kptfile.Result{{Node: result, IsError: true}}}},
			},
			`kind: Kptfile
status:
  conditions:
  - type: Rendered
    status: "False"
    reason: RenderFailed
    message: |-
      two
      lines
  renderStatus:
    mutationSteps:
    - name: n
      image: i
      exitCode: 0
    - exec: fn a
      stderr: |
        said
      exitCode: 3
    validationSteps:
    - exec: fn b
      executionError: not allowed
      exitCode: 1
      results:
      - message: bad
        severity: error
      errorResults:
      - message: bad
        severity: error
    errorSummary: |-
      fn a: exit code 3
      fn b: not allowed
`,
		},
	} {
		k := yaml.MustParse(c.text)
		if err := c.status.Write(k.YNode()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, k.MustString()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if err := (kptfile.Status{}).Write(yaml.MustParse("[a]").YNode()); err == nil {
		t.Error("a status was written into a list")
	}
}

// FuzzDecode: a Kptfile that is read has functions that can be run, within its package.
func FuzzDecode(f *testing.F) {
	archives, err := filepath.Glob("../../../e2e/kpt/testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range archives {
		if data, err := os.ReadFile(path); err == nil {
			for _, file := range txtar.Parse(data).Files {
				if filepath.Base(file.Name) == kptfile.Name {
					f.Add(file.Data)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := kptfile.Decode("Kptfile", data)
		if err != nil {
			if k != nil || failure.Of(err) != failure.Unexpected && failure.Of(err) != failure.Untrusted {
				t.Fatalf("%v and %v", k, err)
			}
			return
		}
		for _, fn := range append(k.Mutators, k.Validators...) {
			if (fn.Image == "") == (len(fn.Words) == 0) {
				t.Errorf("image %q and exec %q", fn.Image, fn.Words)
			}
			if fn.ConfigPath != "" && (!filepath.IsLocal(fn.ConfigPath) || len(fn.ConfigMap) > 0) {
				t.Errorf("configPath %q", fn.ConfigPath)
			}
			if fn.Tag != nil {
				fn.Tag.Latest([]string{"v1.2.3"})
			}
		}
		n := yaml.MustParse(string(data))
		if err := (kptfile.Status{Failed: true, Message: "m"}).Write(n.YNode()); err != nil {
			t.Error(err)
		}
		if _, err := n.String(); err != nil {
			t.Error(err)
		}
	})
}
