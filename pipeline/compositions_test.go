package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/render"
)

// mixed are resources with everything that a printer may write in several ways.
const mixed = `apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {}}
data: {text: "yes", octal: "0777", empty: "", lines: "a\nb\n", long: "` + "word word word word word word word word word word word word word word word word word word word word word word word word" + `"}
---
# A comment.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: b # another
  creationTimestamp: null
  labels: &l {app: b, "on": "off"}
spec:
  replicas: 0o17
  ratio: 1.0
  big: 1e3
  huge: 12345678901234567890
  hex: 0x1f
  nothing: ~
  selector: {matchLabels: *l}
  date: 2001-01-01
  bool: yes
  list:
  - - nested
  - {}
  - []
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Service
  metadata: {name: c}
- apiVersion: v1
  kind: Namespace
  metadata: {name: d}
---
apiVersion: example.com/v1
kind: Thing
metadata: {name: e, namespace: ns}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: local, annotations: {config.kubernetes.io/local-config: "true"}}
`

// odd are resources that are written in ways that need not survive.
var odd = []string{
	"metadata: {name: a, annotations: {}}", "metadata: {name: a, annotations: null}", "metadata: {name: a, annotations: }\ndata: {}",
	"metadata: {name: a, labels: {}}", "metadata: {name: a, labels: null}", "metadata: {name: a, annotations: {x: }}",
	"metadata: {name: a, annotations: {x: 1}}", "metadata: {name: a, annotations: {x: yes}}", "metadata: {name: a, labels: {x: 0o17}}",
	"metadata: {name: a, annotations: {x: 'a'}, namespace: ''}", "metadata: {name: a, namespace: default}", "metadata: {name: 007}", "metadata: {name: 1e3}",
	"metadata: {name: 'yes'}", "metadata: {name: a}\ndata: null", "metadata: {name: a}\ndata: {x: !!binary aGk=}", "metadata: {name: a}\ndata: {x: !!str 1}",
	"metadata: {name: a}\ndata: {1: x, true: y, 1.5: z}", "metadata: {name: a}\ndata: {x: .inf, y: .nan}", "metadata: {name: a}\ndata: {x: 0777, y: 0b11, z: 1_000, s: 190:20:30}",
	"metadata: {name: a}\ndata: {x: 2001-12-14t21:59:43.10-05:00}", "metadata: {name: a}\nbase: &b {x: 1, y: 2}\nover: {<<: *b, y: 3}",
	"metadata: {name: a}\ndata:\n  x: |\n    a\n\n    b\n  y: >-\n    c\n    d\n  z: \"a\\tb\\u0001\"", "metadata: {name: a}\ndata: {x: 1.0, y: 1., z: -0.0, big: 123456789012345678901234567890.0}",
	"metadata: {name: a}\ndata: {x: \"\\u2028\", y: \"\\ufeff\", z: \"\\U0001F600\"}", "metadata: {name: a}\nitems: []",
	"metadata: {name: a, annotations: {config.kubernetes.io/index: '1', config.kubernetes.io/path: p, config.k8s.io/id: '7'}}",
	"metadata: {name: a, annotations: {kustomize.config.k8s.io/needs-hash: 'true'}}\ndata: {x: y}", "metadata: {name: a, annotations: {kustomize.config.k8s.io/behavior: merge}}",
	"metadata: {name: a, annotations: {config.kubernetes.io/local-config: 'false'}}", "metadata: {name: a, annotations: {config.kubernetes.io/local-config: ''}}",
	"metadata: {name: a, annotations: {config.k8s.io/function: x, config.kubernetes.io/function: 'exec: {path: x}'}}", "metadata: {name: a, generateName: b}", "metadata: {generateName: b}",
	"metadata: {name: a}\nmetadata2: {name: b}\nkind2: x", "metadata: {name: a, annotations: {kustomize.config.k8s.io/x: y, internal.config.kubernetes.io/previousNames: q}}",
	"metadata: {name: a, creationTimestamp: null}\nspec: {x: null, y: [null], z: {a: null}}\nstatus: {}",
}

// TestExecutorPrintsLikeKustomize compares what becomes of single resources.
func TestExecutorPrintsLikeKustomize(t *testing.T) {
	t.Parallel()
	for _, text := range odd {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			file := "-- file.yaml --\napiVersion: v1\nkind: ConfigMap\n" + text + "\n"
			for _, list := range []string{"file", "file copy"} {
				app := func(list string) string {
					return "-- composition.yaml --\nkind: Composition\ntransformers:\n" + entries(strings.Fields(list)) + file
				}
				want := errorOr(built(t, app(list)))
				for _, with := range []string{"builtin " + list, list + " builtin", strings.ReplaceAll(list, " ", " builtin ") + " builtin"} {
					if diff := cmp.Diff(want, errorOr(built(t, app(with)))); diff != "" {
						t.Errorf("%s (-executor +kustomize):\n%s", with, diff)
					}
				}
			}
		})
	}
}

// behave is an Apply in which the name of a function says what it does: VERB-NAME.
func behave(steps []pipeline.Step) pipeline.Apply {
	return func(_ context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		verb, name, _ := strings.Cut(steps[i].Name, "-")
		at := slices.IndexFunc(items, func(n *yaml.RNode) bool { return n.GetName() == name })
		if at < 0 && slices.Contains([]string{"drop", "rename", "move", "twin"}, verb) {
			return nil, fmt.Errorf("there is no %s", name)
		}
		switch verb {
		case "copy":
		case "drop":
			items = slices.Delete(items, at, at+1)
		case "add":
			items = append(items, yaml.MustParse("kind: ConfigMap\nmetadata: {name: "+name+"}\napiVersion: v1\ndata: {b: \"1\", a: x}\n"))
		case "put": // in front
			items = append([]*yaml.RNode{yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n")}, items...)
		case "rename":
			return items, items[at].SetName(name + "-new")
		case "move": // to another namespace
			return items, items[at].SetNamespace("moved")
		case "reverse":
			slices.Reverse(items)
		case "twin":
			c := items[at].Copy()
			items = slices.Insert(items, 0, c)
			return items, c.SetName(name + "-twin")
		case "list":
			items = append(items, yaml.MustParse("apiVersion: v1\nkind: ConfigMapList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: "+name+"}\n"))
		case "empty":
			items = nil
		case "fail":
			return nil, errors.New("no " + name)
		case "see": // what the function is told
			var told []string
			for _, n := range items {
				told = append(told, strings.Fields(n.GetAnnotations()["kustomize.config.k8s.io/id"])...)
			}
			return items, items[0].PipeE(yaml.SetAnnotation("told", strings.Join(told, " ")))
		default:
			return nil, fmt.Errorf("%s is no behaviour", verb)
		}
		return items, nil
	}
}

// entries writes a Composition's list. What begins with "file" is a file of resources.
func entries(list []string) string {
	var b strings.Builder
	for i, what := range list {
		switch {
		case strings.HasPrefix(what, "file"):
			fmt.Fprintf(&b, "- {kind: ResourceAccumulator, metadata: {name: acc%d}, files: [%s.yaml]}\n", i, what)
		case what == "builtin":
			fmt.Fprintf(&b, "- {kind: HashTransformer, metadata: {name: nothing%d}}\n", i)
		default:
			fmt.Fprintf(&b, "- {apiVersion: example.com/v1, kind: Fn%d, metadata: {name: %s}}\n", i, what)
		}
	}
	return b.String()
}

// TestExecutorLikeKustomize runs Compositions of functions and files, which the executor
// runs alone, and once more with a builtin that changes nothing at each place of the list,
// which makes kustomize run the rest, and among the resources of a Kustomization.
func TestExecutorLikeKustomize(t *testing.T) {
	t.Parallel()
	const files = "-- %[1]sfile.yaml --\n" + mixed + "-- %[1]sfile2.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: late}\n"
	for _, list := range []string{
		"file", "file file2", "file copy", "file reverse", "file drop-a", "file drop-a add-a", "file drop-a copy add-a reverse", "file add-x",
		"file put-x", "file rename-a", "file rename-a add-a", "file rename-a add-a drop-a add-a", "file move-a", "file move-e drop-e",
		"file twin-a", "file twin-a rename-a drop-a-twin", "file list-x", "file list-x reverse", "file empty", "file empty add-a", "empty add-a add-b",
		"add-b add-a file2", "add-late drop-late file2", "file copy file2 reverse", "file drop-b file2 add-b", "file see", "file rename-a see", "file copy see",
		"file add-x see", "add-x see", "file drop-local", "file copy", "file rename-local", "add-x", "put-y put-x file",
		// What cannot be.
		"file add-a", "file file", "file copy file", "add-a file", "file rename-a-new", "file fail-x", "file copy twin-a twin-a", "put-late file2",
	} {
		t.Run(list, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(list)
			app := func(dir string, words []string) string {
				return "-- " + dir + "composition.yaml --\nkind: Composition\ntransformers:\n" + entries(words) + fmt.Sprintf(files, dir)
			}
			targets := map[string]string{"resources": "-- kustomization.yaml --\nsortOptions: {order: fifo}\nresources: [app]\n" + app("app/", words)}
			for i := range len(words) + 1 {
				targets[fmt.Sprint("builtin at ", i)] = app("", slices.Insert(slices.Clone(words), i, "builtin"))
			}
			targets["builtin everywhere"] = app("", strings.Fields("builtin "+strings.Join(words, " builtin ")+" builtin"))
			want := built(t, app("", words))
			failed := strings.HasPrefix(want, "error: ")
			for name, text := range targets {
				got := built(t, text)
				if failed && got != want && errorOr(got) == errorOr(want) {
					t.Logf("%s: %s, and not %s", name, got, want) // kustomize's words
					continue
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-executor +kustomize):\n%s", name, diff)
				}
			}
		})
	}
}

// built is what a target gives, as it is printed, or why it gives nothing.
func built(t *testing.T, text string) string {
	t.Helper()
	tgt, _ := mustLoad(t, text)
	items, err := itemsOf(tgt.Build)(context.Background(), behave(tgt.Steps()))
	if err != nil {
		return "error: " + err.Error()
	}
	out, err := render.YAML(items)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(out)
}

// errorOr leaves out which error it is: kustomize has words of its own.
func errorOr(out string) string {
	if strings.HasPrefix(out, "error: ") {
		return "error"
	}
	return out
}

// TestCompositionInLists runs a Composition of functions in each list of a Kustomization:
// KEP-2299, "Integration with Kustomization".
func TestCompositionInLists(t *testing.T) {
	t.Parallel()
	const refused = "error: /t/app/composition.yaml:"
	for _, c := range []struct{ list, functions, want string }{
		{"resources", "add-x add-y", "x y z"},
		{"resources", "add-x drop-z", "error: there is no z"},
		{"resources", "add-x rename-x", "x-new z"},
		{"resources", "empty", "z"},
		{"resources", "add-z", "error"},
		{"generators", "add-x add-y", "x y z"},
		{"generators", "add-x drop-z", "error: there is no z"},
		{"generators", "empty", "z"},
		{"generators", "add-z", "error"},
		{"transformers", "add-x drop-z", "x"},
		{"transformers", "rename-z add-z reverse", "z z-new"},
		{"transformers", "add-z", refused + "3: Fn0 add-z: it returned v1 ConfigMap z twice"},
		{"transformers", "empty", ""},
		{"validators", "copy copy", "z"},
		{"validators", "empty", "z"},
		{"validators", "add-x drop-x", "z"},
		{"validators", "drop-z add-x drop-x", "z"},
		{"validators", "add-x", refused + "3: Fn0 add-x: a validator must not add resources, it returned v1 ConfigMap x"},
		{"validators", "copy twin-z", refused + "4: Fn1 twin-z: a validator must not add resources, it returned v1 ConfigMap z-twin"},
		{"validators", "rename-z", refused + "3: Fn0 rename-z: a validator must not add resources, it returned v1 ConfigMap z-new"},
		{"validators", "drop-z add-z", refused + "4: Fn1 add-z: a validator must not change resources, it changed v1 ConfigMap z"},
		{"validators", "move-z", refused + "3: Fn0 move-z: a validator must not add resources, it returned v1 ConfigMap moved/z"},
		{"validators", "copy fail-x", "error: no x"},
	} {
		t.Run(c.list+" "+c.functions, func(t *testing.T) {
			t.Parallel()
			entry := "app"
			if c.list == "resources" {
				entry = "app, z.yaml"
			}
			text := "-- kustomization.yaml --\n" + c.list + ": [" + entry + "]\n"
			if c.list != "resources" {
				text += "resources: [z.yaml]\n"
			}
			tgt, _ := mustLoad(t, text+"-- z.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: z}\n"+
				"-- app/composition.yaml --\nkind: Composition\ntransformers:\n"+entries(strings.Fields(c.functions)))
			items, err := itemsOf(tgt.Build)(context.Background(), behave(tgt.Steps()))
			got := names(items)
			if err != nil {
				got = "error: " + err.Error()
			}
			if c.want == "error" {
				got = errorOr(got)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Each function of a Composition is told the current id, which is gone in the end.
func TestCompositionTellsIDs(t *testing.T) {
	t.Parallel()
	fsys := filesys.MakeFsInMemory()
	for name, text := range map[string]string{
		"composition.yaml": "kind: Composition\ntransformers:\n" +
			"- {kind: ResourceGenerator, metadata: {name: r}, files: [cm.yaml]}\n" +
			"- {apiVersion: example.com/v1, kind: Fn, metadata: {name: one}}\n" +
			"- {apiVersion: example.com/v1, kind: Fn, metadata: {name: two}}\n",
		"cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: first\n  namespace: \"1\"\n",
	} {
		if err := fsys.WriteFile("/t/"+name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	tgt, err := pipeline.Load(t.Context(), fsys, "/t", pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	items, err := itemsOf(tgt.Build)(t.Context(), func(_ context.Context, _ int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		seen = append(seen, items[0].GetAnnotations()["kustomize.config.k8s.io/id"])
		return items, items[0].PipeE(yaml.Lookup("metadata"), yaml.SetField("name", yaml.NewStringRNode("second")))
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"kind: ConfigMap\nname: first\nnamespace: \"1\"\nversion: v1\n",
		"kind: ConfigMap\nname: second\nnamespace: \"1\"\nversion: v1\n",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	if notes := items[0].GetAnnotations(); len(notes) > 0 {
		t.Errorf("left behind: %v", notes)
	}
}
