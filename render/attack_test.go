package render_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container"
	execrt "github.com/krmcat/krmcat/fnexec/exec"
	"github.com/krmcat/krmcat/fnexec/starlark"
	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/render"
	"github.com/krmcat/krmcat/sandbox"
)

// unpack writes a txtar archive to disk.
func unpack(t *testing.T, text string) string {
	t.Helper()
	return filetest.Unpack(t, txtar.Parse([]byte(text)).Files)
}

func newRenderer(t *testing.T) *render.Renderer {
	t.Helper()
	client, err := registry.New(registry.Options{Retry: registry.Retry{Max: -1}})
	if err != nil {
		t.Fatal(err)
	}
	return &render.Renderer{
		Resolve: client.Resolve, FS: filesys.MakeFsOnDisk(),
		Runtimes: []fnexec.Runtime{execrt.New(execrt.Options{CacheDir: t.TempDir()}), container.New(container.Options{}), starlark.New()},
	}
}

// hostEnv reads the environment once, because the process has no PATH while kustomize runs.
var hostEnv = os.Environ()

func optionsFor(t *testing.T, dir string) render.Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return render.Options{
		Dir: dir, WorkDir: dir, Target: pipeline.Options{Executable: self},
		EnableAlphaPlugins: true, EnableExec: true,
		Allow: sandbox.Allow{Host: hostEnv},
	}
}

// tripwires puts programs first in PATH, and a legacy plugin into kustomize's plugin home, that
// write a file when they run. The returned function fails the test if there is such a file.
func tripwires(t *testing.T) func(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	script := []byte("#!/bin/sh\necho \"$0 $*\" >> " + mark + "\nexit 1\n")
	home := filepath.Join(dir, "plugins")
	plugin := filepath.Join(home, "example.com", "v1", "fn")
	if err := os.MkdirAll(plugin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		filepath.Join(dir, "docker"), filepath.Join(dir, "git"), filepath.Join(dir, "helm"),
		filepath.Join(dir, "podman"), filepath.Join(plugin, "Fn"),
	} {
		if err := filetest.WriteProgram(path, script); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("KUSTOMIZE_PLUGIN_HOME", home)
	return func(t *testing.T) {
		t.Helper()
		if ran, err := os.ReadFile(mark); err == nil {
			_ = os.Remove(mark)
			t.Fatalf("a tripwire was run: %s", ran)
		}
	}
}

const cm = "-- cm.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"

// containerFn is a function config for which kustomize runs docker if plugins are enabled.
const containerFn = `apiVersion: example.com/v1
kind: Fn
metadata:
  name: f
  annotations:
    config.kubernetes.io/function: |
      container: {image: example.com/f:v1}
`

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") + "\n"
}

// deep indents a text by six spaces.
func deep(s string) string {
	return "      " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n      ") + "\n"
}

// attack is a target that would make kustomize run something.
type attack struct {
	name  string
	files string
	want  string // part of the error; empty where the render shall work
}

func attacks() []attack {
	list := "-- kustomization.yaml --\nresources: [cm.yaml]\n"
	t := "-- t.yaml --\n" + containerFn
	no := "nothing on this machine runs container images"
	return []attack{
		{"plain", list + "transformers: [t.yaml]\n" + cm + t, no},
		{"another case", list + "Transformers: [t.yaml]\n" + cm + t, no},
		{"inline in another case", list + "VALIDATORS:\n- |-\n" + indent(containerFn) + cm, no},
		{"generators", list + "gEnerators: [t.yaml]\n" + cm + t, no},
		// kustomize uses one of two duplicate fields, and the guard checks the same one.
		{"two spellings", list + "transformers: [t.yaml]\nTransformers: []\n" + cm + t, no},
		{"duplicate key", list + "transformers: []\ntransformers: [t.yaml]\n" + cm + t, no},
		{"nested duplicate key", list + "patches:\n- path: a\n  path: https://example.com/x\n" + cm, "kustomization.yaml:4: https://example.com/x: patches cannot be remote yet"},
		{"merge key", "-- kustomization.yaml --\nmetadata:\n  labels: &x\n    transformers: t.yaml\n<<:\n  transformers: [t.yaml]\n  resources: [cm.yaml]\n" + cm + t, no},
		{"symlinked kustomization", "-- k.txt --\nresources: [cm.yaml]\nTransformers: [t.yaml]\n-- kustomization.yaml -> k.txt --\n" + cm + t, no},
		{"symlinked config", list + "transformers: [l.yaml]\n-- l.yaml -> t.yaml --\n" + cm + t, no},
		{"in a component", list + "components: [c]\n" + cm + "-- c/kustomization.yaml --\nkind: Component\nTransformers: [t.yaml]\n-- c/t.yaml --\n" + containerFn, no},
		{"in a base through a link", list[:len(list)-9] + "cm.yaml, l]\n" + cm + "-- l -> real --\n-- real/kustomization.yaml --\nresources: [c.yaml]\nTransformers: [t.yaml]\n-- real/c.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n-- real/t.yaml --\n" + containerFn, no},
		{"in a directory of configs", list + "transformers: [fns]\n" + cm + "-- fns/kustomization.yaml --\nresources: [t.yaml]\n-- fns/t.yaml --\n" + containerFn, no},
		{"a function that makes configs", list + "transformers: [fns]\n" + cm + "-- fns/kustomization.yaml --\nresources: [t.yaml]\ntransformers: [t.yaml]\n-- fns/t.yaml --\n" + containerFn, "a function cannot configure functions"},
		{"a list of configs", list + "transformers: [l.yaml]\n" + cm + "-- l.yaml --\napiVersion: v1\nkind: FnList\nitems:\n- " + strings.TrimSpace(indent(containerFn)) + "\n", no},
		{"a kustomization as a resource", list[:len(list)-9] + "cm.yaml, b/kustomization.yaml]\n" + cm + "-- b/kustomization.yaml --\nmetadata: {name: x}\nTransformers: [t.yaml]\n-- b/t.yaml --\n" + containerFn, "names a kustomization file"},
		{"a kustomization as a patch", list + "patches: [{path: b/kustomization.yaml}]\n" + cm + "-- b/kustomization.yaml --\nTransformers: [t.yaml]\n", "names a kustomization file"},
		{"a kustomization as data", list + "configMapGenerator:\n- name: self\n  files: [kustomization.yaml, b/kustomization.yaml]\n" + cm + "-- b/kustomization.yaml --\nTransformers: [https://example.com/x]\n", "kustomization.yaml"},
		{"a legacy plugin", list + "transformers: [t.yaml]\n" + cm + "-- t.yaml --\napiVersion: example.com/v1\nkind: Fn\nmetadata: {name: f}\n", "example.com/v1/Fn"},
		{"a legacy plugin with arguments", list + "generators: [t.yaml]\n" + cm + "-- t.yaml --\napiVersion: example.com/v1\nkind: Fn\nmetadata: {name: f}\nargsOneLiner: a b\n", "example.com/v1/Fn"},
		{"our own kind", list + "transformers: [t.yaml]\n" + cm + "-- t.yaml --\napiVersion: krmcat.dev/v1alpha1\nkind: Step\nmetadata: {name: step-0}\nrun: 0\n", "krmcat.dev/v1alpha1/Step"},
		{"helm charts", list + "helmCharts: [{name: x, repo: https://example.com/charts}]\n" + cm, "--enable-helm"},
		{"helm as a generator", list + "generators: [h.yaml]\n" + cm + "-- h.yaml --\napiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: h}\nname: x\nrepo: https://example.com/charts\n", "enable-helm"},
		{"helm, old field", list + "helmChartInflationGenerator: [{chartName: x, chartRepoUrl: https://example.com/charts}]\n" + cm, "--enable-helm"},
		{"builtin with a URL", list + "transformers: [t.yaml]\n" + cm + "-- t.yaml --\napiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: https://example.com/p.yaml\n", "t.yaml:4: https://example.com/p.yaml"},
		{"builtin generator with a URL", list + "generators: [t.yaml]\n" + cm + "-- t.yaml --\napiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: p}\nname: p\nfiles: [\"x=https://example.com/p.yaml\"]\n", "cannot be remote"},
		{"builtin that is none", list + "transformers: [t.yaml]\n" + cm + "-- t.yaml --\napiVersion: builtin\nkind: Nothing\nmetadata: {name: p}\n", "there is no builtin Nothing"},
		{"a directory named like a host", "-- kustomization.yaml --\nresources: [github.com/a/b, cm.yaml]\n" + cm + "-- github.com/a/b/kustomization.yaml --\nnamePrefix: x-\nresources: [c.yaml]\n-- github.com/a/b/c.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", ""},
		{"alias bomb in a kustomization", "-- kustomization.yaml --\n" + bomb() + "resources: [cm.yaml]\n" + cm, "kustomization.yaml:"},
		{"alias bomb in a config", list + "transformers: [t.yaml]\n" + cm + "-- t.yaml --\napiVersion: example.com/v1\nkind: Fn\nmetadata: {name: f}\n" + bomb(), "t.yaml:"},
		{"alias bomb in a resource", "-- kustomization.yaml --\nresources: [b.yaml]\n-- b.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n" + bomb(), "b.yaml:"},
		{"a schema that is none", list + "openapi: {path: s.json}\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: one}\n    data: {a: b}\n" + cm + "-- s.json --\n[1, 2\n", "kustomize stopped with an internal error"},
		{"both kinds", list + "-- composition.yaml --\nkind: Composition\n" + cm, "a directory is one or the other"},
		{"a cycle", "-- kustomization.yaml --\nresources: [a]\n-- a/kustomization.yaml --\nresources: [../b]\n-- b/kustomization.yaml --\nresources: [../a]\n", "cycle: "},
	}
}

// smuggled are targets that kustomize and krmcat would read differently, with a function for which
// krmcat enables plugins.
func smuggled() []attack {
	no := "nothing on this machine runs container images"
	fn := "-- fn.yaml --\napiVersion: example.com/v1\nkind: Ok\nmetadata:\n  name: ok\n  annotations: {config.kubernetes.io/function: 'exec: {path: ./cat.sh}'}\n-- cat.sh --\n#!/bin/sh\ncat\n" + cm
	prefix := "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: x-\nfieldSpecs: [{path: metadata/name}]\n"
	with := func(list string) string { return "-- kustomization.yaml --\nresources: [cm.yaml]\n" + list + "\n" + fn }
	bombName := `{apiVersion: e/v1, kind: E, metadata: {name: e, annotations: {config.kubernetes.io/container: x}}, a: &a [1,1,1,1,1,1,1,1,1,1], ` +
		`b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a], c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b], d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c], e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]}`
	return []attack{
		{"a link of the name of a virtual file", with("transformers: [fn.yaml]") + "-- .krmcat-0-fn.yaml -> evil.yaml --\n-- evil.yaml --\n" + containerFn, ""},
		{"a link of the name of the capturing kustomization", with("transformers: [configs]") + "-- configs/kustomization.yaml --\nresources: [p.yaml]\n-- configs/p.yaml --\n" + prefix +
			"-- .krmcat-configs/kustomization.yaml -> evil.yaml --\n-- .krmcat-configs/evil.yaml --\ntransformers: [e.yaml]\n-- .krmcat-configs/e.yaml --\n" + containerFn, ""},
		{"a virtual file as a resource", with("transformers: [fn.yaml]\ncomponents: [.krmcat-configs]"), "names that begin with .krmcat-"},
		{"a kustomization that is another layer's", "-- kustomization.yaml -> sub/kustomization.yaml --\n-- t.yaml --\n" + prefix + "-- x/kustomization.yaml --\nresources: [../sub]\n" +
			"-- sub/kustomization.yaml --\nresources: [cm.yaml, x]\ntransformers: [t.yaml]\n-- sub/t.yaml --\n" + containerFn + "runtime: {exec: {path: ./cat.sh}}\n" +
			"-- sub/x/kustomization.yaml --\nresources: [c.yaml]\n-- sub/x/c.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n-- sub/cm.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\n-- sub/cat.sh --\n#!/bin/sh\ncat\n" + fn, ""},
		{"a separator that is a key", with("transformers: [b.yaml, fn.yaml]") + "-- b.yaml --\n" + prefix + "---#c:\n" + indent(containerFn), ""},
		{"merged from two", with("transformers: [b.yaml, fn.yaml]") + "-- b.yaml --\na: &a {apiVersion: builtin, kind: PrefixTransformer}\nb: &b {apiVersion: evil/v1}\n<<: [*a, *b]\n" +
			"metadata:\n  name: p\n  annotations: {config.kubernetes.io/container: evil}\nprefix: x-\nfieldSpecs: [{path: metadata/name}]\n", ""},
		{"a path that is a config", with("transformers: ['"+bombName+"', fn.yaml]") + "-- " + bombName + " --\n" + prefix, ""},
		{"a URL as the first key", with("transformers:\n- fn.yaml\n- https://github.com/evil/repo: x\n  apiVersion: builtin\n  kind: PrefixTransformer\n  metadata: !!null {name: p}\n  prefix: x-"), "fails configuration"},
		{"a URL as the first key, as text", with("transformers:\n- |\n  https://github.com/evil/repo: x\n  apiVersion: builtin\n  kind: PrefixTransformer\n  metadata: !!null {name: p}\n  prefix: x-"), "fails configuration"},
		{"a file named like a host", with("transformers: [github.com/evil/repo]") + "-- github.com/evil/repo --\n" + prefix + "---\n" + prefix, "already registered id"},
		{"a file named like a URL", with("transformers: ['http://127.0.0.1:1/x.yaml']") + "-- http:/127.0.0.1:1/x.yaml --\n" + prefix, ""},
		{"a resource named like a host", "-- kustomization.yaml --\nresources: [github.com/evil/repo]\n-- github.com/evil/repo --\nnot: [yaml\n", "not valid YAML"},
		{"a directory named like a host, and a line end", with("components:\n- |\n  github.com/evil/repo") + "-- github.com/evil/repo/kustomization.yaml --\nkind: Component\n", "control character"},
		{"a builtin's URL in base64", with("generators:\n- apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: g}\n  files: [!!binary az1odHRwOi8vMTI3LjAuMC4xOjE4OTk5L2Jpbg==]"), "cannot be remote"},
		{"a builtin's path by another name", with("transformers:\n- apiVersion: builtin\n  kind: ValueAddTransformer\n  metadata: {name: v}\n  value: v\n  targetFilePath: http://127.0.0.1:1/x"), "targetFilePath of a builtin cannot be remote"},
		{"a builtin that reads the kustomization", with("generators:\n- apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: g}\n  files: [kustomization.yaml]"), "names a kustomization file"},
		{"a link out of the directory", "-- k/kustomization.yaml -> ../o.yaml --\n-- o.yaml --\nresources: []\n-- kustomization.yaml --\nresources: [k]\n", "leads out of its directory"},
		{"a device", "-- kustomization.yaml --\nresources: [z]\n-- z -> /dev/zero --\n", "is not in or below"},
		{"metadata that is a list", with("transformers: [{apiVersion: a/b, kind: C, metadata: [a]}]"), "metadata is a mapping, this is a list"},
		{"annotations that are a list", with("transformers: [{apiVersion: a/b, kind: C, metadata: {annotations: [a]}}]"), "metadata.annotations is a mapping"},
		{"directories of configs in a circle", "-- kustomization.yaml --\ntransformers: [b]\n-- b/kustomization.yaml --\ntransformers: [../c]\n-- c/kustomization.yaml --\ntransformers: [../b]\n", "cycle: "},
		{"helm to make configs", with("transformers: [c]") + "-- c/kustomization.yaml --\nhelmCharts: [{name: x}]\n", "helm does not run to make function configs"},
		{"keys in base64", with("transformers: [b.yaml, fn.yaml]") + "-- b.yaml --\napiVersion: builtin\nkind: PrefixTransformer\n!!binary YXBpVmVyc2lvbg==: evil/v1\n!!binary a2luZA==: ../../../../bin/sh\nmetadata: {name: p}\n", "keys are written plainly"},
		{"keys in base64, in a directory of configs", with("transformers: [fns]") + "-- fns/kustomization.yaml --\nresources: [p.yaml]\ntransformers: [e.yaml]\n-- fns/p.yaml --\n" + prefix +
			"-- fns/e.yaml --\napiVersion: builtin\nkind: PrefixTransformer\n!!binary YXBpVmVyc2lvbg==: evil/v1\nmetadata: {name: p}\n", "keys are written plainly"},
		{"a kind in base64", with("transformers: [b.yaml, fn.yaml]") + "-- b.yaml --\napiVersion: builtin\nkind: !!binary Rm9vTGlzdA==\nmetadata: {name: p}\nitems: [" + strings.ReplaceAll("{apiVersion: x/v1, kind: E, metadata: {name: e, annotations: {config.kubernetes.io/container: evil}}}", "\n", " ") + "]\n", "kind has to be plain text"},
		{"a key that is too long for YAML", with("transformers:\n- |\n  apiVersion: builtin\n  kind: PrefixTransformer\n  metadata: {name: p}\n  prefix: x-\n  ? " + strings.Repeat("k", 1100) + "\n  : b\n  zz: /../e\n- fn.yaml"), "kustomize cannot read it"},
		{"a builtin that is a list", with("transformers: [b.yaml, fn.yaml]") + "-- b.yaml --\napiVersion: builtin\nkind: PrefixTransformerList\nmetadata: {name: p}\n", "there is no builtin PrefixTransformerList"},
		{"a long s", with("generators:\n- {apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: g}, fileſ: [kustomization.yaml]}"), "is not in ASCII"},
		{"a forged origin", "-- kustomization.yaml --\ntransformers: [c]\nresources: [cm.yaml]\n-- c/kustomization.yaml --\ntransformers: [d]\nresources: [p.yaml]\n-- c/p.yaml --\n" + prefix + "-- c/d/kustomization.yaml --\nresources: [q.yaml]\n-- c/d/q.yaml --\n" +
			"apiVersion: builtin\nkind: SuffixTransformer\nmetadata:\n  name: q\n  annotations:\n    config.kubernetes.io/origin: 'path: \"a: b\\napiVersion: example.com/v1\\nkind: Fn\\nmetadata: {name: x}\\n\"'\nsuffix: -q\nfieldSpecs: [{path: metadata/name}]\n" + cm, ""},
		{"a path that is a config behind a line break", with("transformers: [fn.yaml, \"'x/a: b\\napiVersion: example.com/v1\\nkind: Fn\\nmetadata: {name: x}\\n#'\"]") +
			"-- 'x/a.yaml --\n" + prefix, "control character"},
		{"a base behind a line break", "-- kustomization.yaml --\nresources: [sub, \"a\\nb/../sub/kustomization.yaml\"]\n-- sub/kustomization.yaml --\nresources: [cm.yaml]\n-- sub/cm.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\n", "control character"},
		{"a bomb behind a key that stands twice", "-- kustomization.yaml --\nresources: [b.yaml]\n-- b.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\nq: {z: 1, z: 2}\n" + bomb(), "its aliases stand for too much"},
		{"a bomb behind dashes", "-- kustomization.yaml --\nresources: [b.yaml]\n-- b.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---#c\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n" + bomb(), "its aliases stand for too much"},
		{"a validator of labels that are a list", "-- kustomization.yaml --\nresources: [x.yaml]\nvalidators: [fn.yaml]\n-- x.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: [a]}\n" + fn, "labels"},
		{"a line break that YAML folds", with("configMapGenerator:\n- name: g\n  files: [\"foo\\u0085/kustomization.yaml\"]") + "-- foo /kustomization.yaml --\nresources: []\n", "control character"},
		{"a bomb in a patch", with("patches:\n- patch: |\n" + deep("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"+bomb())), "its aliases stand for too much"},
		{"a bomb in a builtin's patch", with("transformers:\n- apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: p}\n  patch: |\n" + deep("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"+bomb())), "its aliases stand for too much"},
		{"the directory above as configs", "-- a/b/kustomization.yaml --\ntransformers: [..]\n-- a/kustomization.yaml --\nresources: []\n-- kustomization.yaml --\nresources: [a/b]\n", "cycle: "},
		{"container beside", with("transformers: [fn.yaml, t.yaml]") + "-- t.yaml --\n" + containerFn, no},
	}
}

func bomb() string {
	s := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 10; i++ {
		s += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return s
}

// strike renders the target, checks the tripwires, and compares the error.
func (a attack) strike(t *testing.T, check func(*testing.T)) error {
	t.Helper()
	o := optionsFor(t, unpack(t, a.files))
	// With helm, PATH is kept while kustomize runs. Without it, no tripwire could run.
	o.Target.Helm.Enabled = !strings.HasPrefix(a.name, "helm")
	_, err := newRenderer(t).Render(t.Context(), o)
	check(t)
	switch {
	case a.want == "" && err != nil:
		t.Fatal(err)
	case a.want != "" && (err == nil || !strings.Contains(err.Error(), a.want)):
		t.Fatalf("want an error with %q, got %v", a.want, err)
	}
	return err
}

// TestAttacks changes PATH, so it does not run in parallel.
func TestAttacks(t *testing.T) { //nolint:paralleltest // see above
	check := tripwires(t)
	for _, a := range append(attacks(), smuggled()...) {
		t.Run(a.name, func(t *testing.T) {
			err := a.strike(t, check)
			if err != nil && a.want != "names that begin with .krmcat-" && (strings.Contains(err.Error(), ".krmcat-") || strings.Contains(err.Error(), "krmcat.dev/v1alpha1") && a.name != "our own kind") {
				t.Errorf("the error shows what exists only inside: %v", err)
			}
		})
	}
}

// TestEndlessInput checks that a device is not read, even where the load restrictor permits its
// path.
func TestEndlessInput(t *testing.T) {
	t.Parallel()
	for _, files := range []string{
		"-- kustomization.yaml --\nresources: [z]\n-- z -> /dev/zero --\n",
		"-- kustomization.yaml -> /dev/zero --\n",
		"-- kustomization.yaml --\ntransformers: [z]\n-- z -> /dev/zero --\n",
		"-- composition.yaml -> /dev/zero --\n",
		"-- composition.yaml --\nkind: Composition\ntransformers: [{kind: ResourceGenerator, files: [z]}]\n-- z -> /dev/zero --\n",
	} {
		o := optionsFor(t, unpack(t, files))
		o.Target.LoadAnywhere = true
		_, err := newRenderer(t).Render(context.Background(), o)
		if err == nil || !strings.Contains(err.Error(), "not a file") {
			t.Errorf("%s: %v", files, err)
		}
	}
}

// TestNoSecondDoor tries the forms of a remote reference in every field for paths.
func TestNoSecondDoor(t *testing.T) { //nolint:paralleltest // it owns PATH
	check := tripwires(t)
	forms := []string{
		"https://example.com/x.yaml", "HTTP://example.com/x", "github.com/a/b", "GitHub.com:a/b", "git@example.com:a/b",
		"git::https://example.com/a/b", "ssh://example.com/a/b", "file:///a/b.git", "https://github.com/a/b?ref=v1",
	}
	fields := []string{
		"resources: [%s]", "bases: [%s]", "components: [%s]", "crds: [%s]", "configurations: [%s]",
		"openapi: {path: %s}", "patches: [{path: %s}]", "patchesStrategicMerge: [%s]",
		"patchesJson6902: [{path: %s, target: {kind: X, name: y}}]", "replacements: [{path: %s}]",
		"configMapGenerator: [{name: a, files: [%s]}]", "configMapGenerator: [{name: a, files: [k=%s]}]",
		"configMapGenerator: [{name: a, envs: [%s]}]", "configMapGenerator: [{name: a, env: %s}]",
		"secretGenerator: [{name: a, files: [%s]}]", "generators: [%s]", "transformers: [%s]", "validators: [%s]",
	}
	for _, field := range fields {
		for _, form := range forms {
			text := fmt.Sprintf(field, `"`+form+`"`)
			if strings.Contains(field, "k=%s") {
				text = fmt.Sprintf(field, form)
			}
			dir := unpack(t, "-- kustomization.yaml --\nresources: [cm.yaml]\nmetadata: {name: k}\n"+strings.TrimPrefix(text, "")+"\n"+cm)
			if strings.HasPrefix(field, "resources") {
				dir = unpack(t, "-- kustomization.yaml --\n"+text+"\n"+cm)
			}
			o := optionsFor(t, dir)
			o.Target.Helm.Enabled = true // so that PATH stays what it is
			_, err := newRenderer(t).Render(context.Background(), o)
			check(t)
			var syntax *pipeline.SyntaxError
			if !errors.As(err, &syntax) {
				t.Errorf("%s: want a syntax error at load, got %v", text, err)
				continue
			}
			if !strings.Contains(syntax.Where, "kustomization.yaml:") {
				t.Errorf("%s: the error has no line: %v", text, err)
			}
		}
	}
	for _, form := range forms {
		_, err := newRenderer(t).Render(context.Background(), optionsFor(t, form))
		check(t)
		if err == nil || !strings.Contains(err.Error(), "remote targets are not supported yet") {
			t.Errorf("target %s: %v", form, err)
		}
	}
}
