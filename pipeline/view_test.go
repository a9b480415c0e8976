package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline"
)

// stories is KEP-2299's stories 1 and 2, with one more level on top.
const stories = `-- app/composition.yaml --
kind: Composition

transformers:
# generate resources for a Java application
- apiVersion: example.com/v1
  kind: JavaApplication
  runtime: {container: {image: docker.example.co/kustomize_transformers/java:v1.0.0}}
  metadata:
    name: my-app
  spec:
    application: team/my-app
    version: v1.0
# transform resources to inject a logger
- apiVersion: example.com/v1
  kind: Logger
  runtime: {container: {image: docker.example.co/kustomize_transformers/logger:v1.0.3}}
  metadata:
    name: logger
-- staging/composition.yaml --
kind: Composition

transformersFrom:
# import the JavaApplication and Logger transformers
- path: ../app/composition.yaml
  importMode: prepend

transformerOverrides:
# override the JavaApplication version before the function is run
- apiVersion: example.com/v1
  kind: JavaApplication
  metadata:
    name: my-app
  spec:
    version: v1.1-beta

transformers:
# transform resources from imported transformers to inject metrics
- apiVersion: example.com/v1
  kind: Prometheus
  runtime: {container: {image: docker.example.co/kustomize_transformers/prometheus:v1.0.2}}
  metadata:
    name: metrics
  spec:
    prefix: my-app-
-- composition.yaml --
kind: Composition
metadata: {name: all}
catalogs: [oci-layout://store:x]
transformersFrom:
- path: staging
transformers:
- kind: PrefixSuffixTransformer
  prefix: "on"
`

func TestConsolidate(t *testing.T) {
	t.Parallel()
	c, err := pipeline.Consolidate(context.Background(), inMemory(t, stories), "/t", pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Composition
metadata:
  name: all
catalogs:
- oci-layout://store:x
transformers:
# from app/composition.yaml:5
# overridden at staging/composition.yaml:10
- apiVersion: example.com/v1
  kind: JavaApplication
  runtime:
    container:
      image: docker.example.co/kustomize_transformers/java:v1.0.0
  metadata:
    name: my-app
  spec:
    application: team/my-app
    version: v1.1-beta
# from app/composition.yaml:14
- apiVersion: example.com/v1
  kind: Logger
  runtime:
    container:
      image: docker.example.co/kustomize_transformers/logger:v1.0.3
  metadata:
    name: logger
# from staging/composition.yaml:19
- apiVersion: example.com/v1
  kind: Prometheus
  runtime:
    container:
      image: docker.example.co/kustomize_transformers/prometheus:v1.0.2
  metadata:
    name: metrics
  spec:
    prefix: my-app-
# from composition.yaml:7
- kind: PrefixSuffixTransformer
  prefix: "on"
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	wantSources := []pipeline.SourceFile{
		{File: "composition.yaml", Imports: []pipeline.Import{{Source: 1, Mode: "prepend"}}, Transformers: []int{3}},
		{File: "staging/composition.yaml", Imports: []pipeline.Import{{Source: 2, Mode: "prepend"}}, Transformers: []int{2}, Overrides: []int{0}},
		{File: "app/composition.yaml", Transformers: []int{0, 1}},
	}
	if diff := cmp.Diff(wantSources, c.Sources); diff != "" {
		t.Error(diff)
	}
}

// moving is a Composition that is imported from beside and from below, with every kind of
// path in it.
const moving = `-- base/composition.yaml --
kind: Composition
catalogs: [catalog.yaml, 'oci-layout://store:v1', 'oci-layout://.', 'file://c/d.yaml', oci://example.com/c:v1, /abs/c.yaml, ../over/own.yaml]
transformers:
- kind: ResourceAccumulator
  files: [cms.yaml, ./dir/]
- kind: ConfigMapGenerator
  name: made
  files: [a.txt, b=a.txt]
  envs: [e.env]
- kind: PatchTransformer
  path: patch.yaml
- kind: PatchStrategicMergeTransformer
  paths:
  - patch.yaml
  - |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: a}
    data: {text: "yes"}
- kind: Kustomization
  catalogs: [catalog.yaml]
  resources: [dir/x.yaml]
  transformers:
  - {apiVersion: builtin, kind: PatchTransformer, metadata: {name: in}, path: patch.yaml}
  - {apiVersion: example.com/v1, kind: Mapped, runtime: {exec: {path: ./m, args: [010]}}}
  - |-
    apiVersion: builtin
    kind: PatchTransformer
    metadata: {name: text}
    path: patch.yaml
  - label.yaml
  - |-
    kind: Composition
    catalogs: [catalog.yaml]
    transformersFrom: [{path: sub}]
    transformers:
    - {kind: PatchTransformer, path: patch.yaml}
    - {apiVersion: example.com/v1, kind: Nested, runtime: {exec: {path: ./n}}}
- {apiVersion: example.com/v1, kind: A, runtime: {exec: {path: ./x, args: [010, yes, True], requireNetwork: true}, deferFailure: true}}
- {apiVersion: example.com/v1, kind: B, runtime: {exec: {path: bare}}}
- {apiVersion: example.com/v1, kind: C, runtime: {starlark: c.star}}
- {apiVersion: example.com/v1, kind: D, runtime: {starlark: {path: d.star, sha256: 0123}}}
- {apiVersion: example.com/v1, kind: E, runtime: {starlark: 'oci-layout://store:e'}}
- {apiVersion: example.com/v1, kind: F, runtime: {exec: {platforms: [{os: linux, arch: amd64, uri: f.tgz}, {os: darwin, arch: arm64, path: bin}]}}}
- {apiVersion: example.com/v1, kind: G, metadata: {annotations: {config.kubernetes.io/function: 'exec: {path: ./g}'}}}
- {apiVersion: example.com/v1, kind: H, metadata: {annotations: {config.kubernetes.io/function: 'exec: {path: /g}'}}}
- {apiVersion: fn.kpt.dev/v1alpha1, kind: StarlarkRun, source: ''}
- fns/f.yaml
-- base/fns/f.yaml --
apiVersion: example.com/v1
kind: I
runtime: {exec: {path: ../../over/i}}
---
apiVersion: builtin
kind: PatchTransformer
metadata: {name: file}
path: p.yaml
-- base/fns/p.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {p: fns}
-- base/sub/composition.yaml --
kind: Composition
transformers:
- {apiVersion: example.com/v1, kind: O, runtime: {exec: {path: ./o}}}
-- base/cms.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
-- base/dir/kustomization.yaml --
namePrefix: dir-
resources: [x.yaml]
-- base/dir/x.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: x}
-- base/a.txt --
a
-- base/e.env --
e=1
-- base/patch.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {p: base}
-- base/label.yaml --
apiVersion: builtin
kind: LabelTransformer
metadata: {name: l}
labels: {l: l}
fieldSpecs: [{path: metadata/labels, create: true}]
-- over/patch.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {p: over}
-- over/composition.yaml --
kind: Composition
catalogs: [own.yaml, 'oci-layout://store']
transformersFrom: [{path: ../base}]
transformerOverrides:
- {kind: PatchTransformer, path: patch.yaml}
- {apiVersion: example.com/v1, kind: B, runtime: {exec: {path: ./b}}}
- {apiVersion: example.com/v1, kind: C, runtime: null}
-- composition.yaml --
kind: Composition
transformersFrom: [{path: base}]
`

const movedOver = restrictor + `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Composition
catalogs:
- own.yaml
- oci-layout://store
- ../base/catalog.yaml
- oci-layout://../base/store:v1
- oci-layout://../base/
- file://../base/c/d.yaml
- oci://example.com/c:v1
- /abs/c.yaml
transformers:
# from ../base/composition.yaml:4
- kind: ResourceAccumulator
  files:
  - ../base/cms.yaml
  - ../base/dir
# from ../base/composition.yaml:6
- kind: ConfigMapGenerator
  envs:
  - ../base/e.env
  files:
  - ../base/a.txt
  - b=../base/a.txt
  name: made
# from ../base/composition.yaml:10
# overridden at composition.yaml:5
- kind: PatchTransformer
  path: patch.yaml
# from ../base/composition.yaml:12
- kind: PatchStrategicMergeTransformer
  paths:
  - ../base/patch.yaml
  - |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: a}
    data: {text: "yes"}
# from ../base/composition.yaml:20
- kind: Kustomization
  catalogs:
  - ../base/catalog.yaml
  resources:
  - ../base/dir/x.yaml
  transformers:
  - apiVersion: builtin
    kind: PatchTransformer
    metadata:
      name: in
    path: ../base/patch.yaml
  - apiVersion: example.com/v1
    kind: Mapped
    runtime:
      exec:
        args:
        - "010"
        path: ../base/m
  - |
    apiVersion: builtin
    kind: PatchTransformer
    metadata:
      name: text
    path: ../base/patch.yaml
  - ../base/label.yaml
  - |
    catalogs:
    - ../base/catalog.yaml
    kind: Composition
    transformers:
    - kind: PatchTransformer
      path: ../base/patch.yaml
    - apiVersion: example.com/v1
      kind: Nested
      runtime:
        exec:
          path: ../base/n
    transformersFrom:
    - path: ../base/sub
# from ../base/composition.yaml:39
- apiVersion: example.com/v1
  kind: A
  runtime:
    deferFailure: true
    exec:
      args:
      - "010"
      - "yes"
      - "True"
      path: ../base/x
      requireNetwork: true
  metadata:
    name: a
# from ../base/composition.yaml:40
# overridden at composition.yaml:6
- apiVersion: example.com/v1
  kind: B
  runtime:
    exec:
      path: ./b
  metadata:
    name: b
# from ../base/composition.yaml:41
# overridden at composition.yaml:7
- apiVersion: example.com/v1
  kind: C
  metadata:
    name: c
# from ../base/composition.yaml:42
- apiVersion: example.com/v1
  kind: D
  runtime:
    starlark:
      path: ../base/d.star
      sha256: "0123"
  metadata:
    name: d
# from ../base/composition.yaml:43
- apiVersion: example.com/v1
  kind: E
  runtime:
    starlark: oci-layout://../base/store:e
  metadata:
    name: e
# from ../base/composition.yaml:44
- apiVersion: example.com/v1
  kind: F
  runtime:
    exec:
      platforms:
      - arch: amd64
        os: linux
        uri: ../base/f.tgz
      - arch: arm64
        os: darwin
        path: bin
  metadata:
    name: f
# from ../base/composition.yaml:45
- apiVersion: example.com/v1
  kind: G
  runtime:
    exec:
      path: ../base/g
  metadata:
    annotations:
      config.kubernetes.io/function: 'exec: {path: ./g}'
    name: g
# from ../base/composition.yaml:46
- apiVersion: example.com/v1
  kind: H
  metadata:
    annotations:
      config.kubernetes.io/function: 'exec: {path: /g}'
    name: h
# from ../base/composition.yaml:47
- apiVersion: fn.kpt.dev/v1alpha1
  kind: StarlarkRun
  metadata:
    name: starlark-run
  source: ""
# from ../base/fns/f.yaml:1
- apiVersion: example.com/v1
  kind: I
  runtime:
    exec:
      path: ./i
  metadata:
    name: i
# from ../base/fns/f.yaml:5
- apiVersion: builtin
  kind: PatchTransformer
  metadata:
    name: file
  path: ../base/fns/p.yaml
`

func TestPathsMoveWithWhatTheyStandIn(t *testing.T) {
	t.Parallel()
	fsys := inMemory(t, moving)
	got := consolidated(t, fsys, "/t/over")
	if diff := cmp.Diff(movedOver, got); diff != "" {
		t.Error(diff)
	}
	renders(t, fsys, "/t/over", got)
	below := consolidated(t, fsys, "/t")
	for _, line := range []string{"- oci-layout://base/\n", "  - base/a.txt\n", "      path: base/x\n", "      path: over/i\n"} {
		if !strings.Contains(below, line) {
			t.Errorf("%q is not in\n%s", line, below)
		}
	}
	if !strings.HasPrefix(below, "#") {
		t.Error("a program is elsewhere, and it does not say that it needs the load restrictor lifted")
	}
	renders(t, fsys, "/t", below)
	if below := consolidated(t, inMemory(t, strings.ReplaceAll(moving, "{path: /g}", "{path: /t/g}")), "/t"); strings.HasPrefix(below, "#") {
		t.Error("everything is below, and still it needs the load restrictor lifted")
	}
}

// consolidated is the Composition of a directory, as YAML.
func consolidated(t testing.TB, fsys filesys.FileSystem, dir string) string {
	t.Helper()
	c, err := pipeline.Consolidate(context.Background(), fsys, dir, pipeline.Options{LoadAnywhere: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// renders checks that a directory renders the same with its Composition replaced.
func renders(t testing.TB, fsys filesys.FileSystem, dir, composition string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	render := func() (out string) {
		tgt, err := pipeline.Load(context.Background(), fsys, dir, pipeline.Options{Executable: self, LoadAnywhere: true})
		if err != nil {
			t.Fatalf("%v\n%s", err, composition)
		}
		items, err := itemsOf(tgt.Build)(context.Background(), func(_ context.Context, i int, in []*yaml.RNode) ([]*yaml.RNode, error) {
			s := tgt.Steps()[i]
			out += s.Name + " " + s.Config.MustString()
			if s.Inline != nil {
				out += fmt.Sprintln(s.Inline.Kind, s.Inline.DeferFailure)
			}
			return in, nil
		})
		if err != nil {
			t.Fatalf("%v\n%s", err, composition)
		}
		for _, n := range items {
			out += n.MustString() + "---\n"
		}
		return out
	}
	want := render()
	if err := fsys.WriteFile(dir+"/composition.yaml", []byte(composition)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, render()); diff != "" {
		t.Errorf("%s\n%s", diff, composition)
	}
	if again := consolidated(t, fsys, dir); withoutComments(again) != withoutComments(composition) {
		t.Errorf("consolidated twice it differs:\n%s", cmp.Diff(withoutComments(composition), withoutComments(again)))
	}
}

// withoutComments leaves out what names lines.
func withoutComments(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "# ") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// TestDirectoryWithoutTheLoadRestrictor: what files outside of a Composition need does not
// keep directories from it.
func TestDirectoryWithoutTheLoadRestrictor(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	fsys := inMemory(t, "-- kustomization.yaml --\nresources: [base]\n-- base/kustomization.yaml --\nresources: [cms.yaml]\n"+
		strings.Replace(cms, "-- cms", "-- base/cms", 1))
	tgt, err := pipeline.Load(context.Background(), fsys, "/t", pipeline.Options{Executable: self, LoadAnywhere: true})
	if err != nil {
		t.Fatal(err)
	}
	if items, err := itemsOf(tgt.Build)(context.Background(), keep); err != nil || names(items) != "a b" {
		t.Errorf("%s, %v", names(items), err)
	}
}

// TestPlacesThatCannotMove: what would mean another thing is refused, or written so that it
// does not.
func TestPlacesThatCannotMove(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ files, want, err string }{
		"charts beside the config": {
			files: "-- d/composition.yaml --\nkind: Composition\ntransformersFrom: [{path: ../base}]\n" +
				"-- base/composition.yaml --\nkind: Composition\ntransformers:\n- {kind: HelmChartInflationGenerator, name: c, valuesFile: v.yaml}\n",
			want: restrictor + "- kind: HelmChartInflationGenerator\n  chartHome: ../base/charts\n  name: c\n  valuesFile: ../base/v.yaml\n",
		},
		"names that look remote": {
			files: "-- d/composition.yaml --\nkind: Composition\ntransformersFrom: [{path: ./github.com}]\n" +
				"-- d/github.com/composition.yaml --\nkind: Composition\ncatalogs: [c.yaml, 'git@host:c', 'oci:slip', https://example.com/c.yaml, c@sha256:00]\n" +
				"transformers:\n- {kind: PatchTransformer, path: p.yaml}\n-- d/github.com/p.yaml --\n",
			want: "- github.com/c.yaml\n- git@host:c\n- oci:slip\n- https://example.com/c.yaml\n- github.com/c@sha256:00\n" +
				"- kind: PatchTransformer\n  path: ./github.com/p.yaml\n",
		},
		"names that look like a scheme": {
			files: "-- d/composition.yaml --\nkind: Composition\ntransformersFrom: [{path: 'oci:x'}]\n" +
				"-- d/oci:x/composition.yaml --\nkind: Composition\ncatalogs: [c.yaml, 'oci-layout://.', 'oci-layout://s/:t']\n",
			want: "- ./oci:x/c.yaml\n- oci-layout://oci:x/\n- oci-layout://oci:x/s/:t\n",
		},
		"in PATH or here": {
			files: "-- d/composition.yaml --\nkind: Composition\ntransformersFrom: [{path: b}]\n-- d/b/composition.yaml --\nkind: Composition\ntransformers:\n" +
				"- {apiVersion: v1, kind: F, runtime: {exec: {path: ../f}}}\n- {apiVersion: v1, kind: G, runtime: {exec: {path: g}}}\n",
			want: "      path: ./f\n      path: g\n",
		},
		"a patch": {
			files: "-- d/composition.yaml --\nkind: Composition\ntransformersFrom: [{path: '../a:b'}]\n" +
				"-- a:b/composition.yaml --\nkind: Composition\ntransformers:\n- {kind: PatchStrategicMergeTransformer, paths: [p.yaml]}\n",
			err: `/t/a:b/composition.yaml:3: p.yaml is "../a:b/p.yaml" from the directory of the Composition, which would not be read as a path there`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c1, err := pipeline.Consolidate(context.Background(), inMemory(t, c.files), "/t/d", pipeline.Options{})
			if err != nil || c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("%v", err)
				}
				return
			}
			text, err := c1.YAML()
			if err != nil {
				t.Fatal(err)
			}
			got := regexp.MustCompile(`(?m)^(# from .*|apiVersion: .*|kind: .*|catalogs:|transformers:.*|- apiVersion: .*|  kind: .*|  runtime:|    exec:|  metadata:|    name: .*)\n`).
				ReplaceAllString(string(text), "")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const restrictor = "# It names files outside of its directory: --load-restrictor LoadRestrictionsNone lets them be read.\n"

// TestNoComposition is what Consolidate says of directories that hold none.
func TestNoComposition(t *testing.T) {
	t.Parallel()
	for files, want := range map[string]string{
		"-- x --\n":                 "/t: there is no composition.yaml",
		"-- kustomization.yml --\n": "/t/kustomization.yml: it is no Composition: there is nothing to consolidate",
		"-- kustomization.yml --\n-- composition.yaml --\n":          "/t: both composition.yaml and kustomization.yml are there: a directory is one or the other (KEP-2299)",
		"-- composition.yaml --\nkind: Composition\ntransformer: []": `/t/composition.yaml:2: unknown field "transformer", did you mean "transformers"?`,
	} {
		if _, err := pipeline.Consolidate(context.Background(), inMemory(t, files), "/t", pipeline.Options{}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
