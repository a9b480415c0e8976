package likeness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/krmcat/krmcat/internal/filetest"
)

// oddFiles are the files that the kustomizations of these tests name.
const oddFiles = `-- cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {k: v}
-- d.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {template: {spec: {containers: [{name: c, image: nginx}]}}}
-- base/kustomization.yaml --
resources: [b.yaml]
-- base/b.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
-- comp/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
namePrefix: comp-
-- prefix.yaml --
apiVersion: builtin
kind: PrefixTransformer
metadata: {name: p}
prefix: p-
fieldSpecs: [{path: metadata/name}]
-- gen.yaml --
apiVersion: builtin
kind: ConfigMapGenerator
metadata: {name: g}
literals: [a=b]
-- nothing.yaml --
# nothing
-- empty.yaml --
{}
-- list.yaml --
apiVersion: v1
kind: List
items: [null, {}]
`

// likewise builds one directory with both programs. Either both print the same, or neither builds
// it.
func likewise(t *testing.T, k cli, kustomization string, flags ...string) {
	t.Helper()
	dir := filetest.Unpack(t, txtar.Parse([]byte(oddFiles)).Files)
	putFunction(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o600); err != nil {
		t.Fatal(err)
	}
	want, refused := k.build(t, dir, flags)
	got, err := krmcat(t, dir, flags)
	switch {
	case refused != nil && err == nil:
		t.Errorf("kustomize refuses it: %v\nkrmcat gives\n%s", refused, got)
	case refused == nil && err != nil:
		t.Errorf("kustomize builds it, krmcat: %v", err)
	case refused == nil && !bytes.Equal(want, got):
		t.Errorf("differs from kustomize (-kustomize +krmcat):\n%s", cmp.Diff(string(want), string(got)))
	}
}

const two = "resources: [cm.yaml, d.yaml]\n"

// TestOddEntriesLikeKustomize puts unusual values into each field, alone and next to a usual value.
func TestOddEntriesLikeKustomize(t *testing.T) {
	t.Parallel()
	k := kustomize(t)
	good := map[string]string{
		"resources": "cm.yaml", "components": "comp", "bases": "base", "generators": "gen.yaml", "transformers": "prefix.yaml", "validators": "",
		"patchesStrategicMerge": `"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: y}}"`, "buildMetadata": "originAnnotations",
		"crds": "", "configurations": "", "patches": "", "patchesJson6902": "", "configMapGenerator": "{name: x}", "images": "{name: nginx, newTag: v1}",
		"replicas": "", "replacements": "", "labels": "{pairs: {a: b}}", "vars": "", "helmCharts": "",
		"namePrefix": "", "namespace": "", "commonLabels": "", "commonAnnotations": "", "generatorOptions": "", "openapi": "", "sortOptions": "", "metadata": "", "kind": "",
	}
	for field, meant := range good {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			before := two
			if field == "resources" {
				before = ""
			}
			for _, odd := range []string{"null", `""`, `" "`, "{}", "[]", "1", `"# c"`, `"---"`, `"null"`, `"{}"`, `"[]"`, "nothing.yaml", "empty.yaml", "list.yaml"} {
				texts := []string{odd, "[" + odd + "]"}
				if meant != "" {
					texts = append(texts, "["+odd+", "+meant+"]", "["+meant+", "+odd+"]")
				}
				for _, text := range texts {
					t.Run(text, func(t *testing.T) {
						t.Parallel()
						likewise(t, k, before+field+": "+text+"\n")
					})
				}
			}
		})
	}
}

// TestOddKustomizationsLikeKustomize writes fields twice, in several spellings, and in more than
// one document.
func TestOddKustomizationsLikeKustomize(t *testing.T) {
	t.Parallel()
	k := kustomize(t)
	suffix := "- |-\n  apiVersion: builtin\n  kind: SuffixTransformer\n  metadata: {name: s}\n  suffix: -s\n  fieldSpecs: [{path: metadata/name}]\n"
	for name, text := range map[string]string{
		"apiVersion twice":                "apiVersion: kustomize.config.k8s.io/v1beta1\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" + two,
		"resources twice":                 "resources: [cm.yaml]\nresources: [d.yaml]\n",
		"prefix twice":                    two + "namePrefix: a-\nnamePrefix: b-\n",
		"prefix twice and null":           two + "namePrefix: a-\nnamePrefix:\n",
		"prefix three times":              two + "namePrefix: a-\nnamePrefix: b-\nnamePrefix: c-\n",
		"twice in a struct":               two + "configMapGenerator:\n- name: a\n  name: b\n  literals: [a=b]\n  literals: [c=d]\n",
		"label twice":                     two + "commonLabels: {a: b, a: c}\n",
		"transformers twice":              two + "transformers: [prefix.yaml]\ntransformers:\n" + suffix,
		"generators and none":             two + "generators: [gen.yaml]\ngenerators: []\n",
		"generators and null":             two + "generators: [gen.yaml]\ngenerators:\n",
		"two spellings":                   two + "namePrefix: x-\nnameprefix: y-\n",
		"two spellings backwards":         two + "nameprefix: x-\nnamePrefix: y-\n",
		"three spellings":                 two + "nameprefix: x-\nnamePrefix: y-\nNAMEPREFIX: z-\n",
		"spelling and null":               two + "namePrefix: x-\nnameprefix:\n",
		"lists spelled":                   "resources: [cm.yaml]\nResources: [d.yaml, base]\n",
		"lists spelled backwards":         "Resources: [cm.yaml]\nresources: [d.yaml, base]\n",
		"transformers spelled":            two + "transformers: [prefix.yaml]\nTransformers:\n" + suffix,
		"transformers spelled, none last": two + "transformers: []\nTransformers:\n" + suffix,
		"mappings spelled":                two + "commonLabels: {a: b}\ncommonlabels: {c: d}\n",
		"structs spelled":                 two + "images: [{name: nginx, newTag: v1}]\nImages: [{name: nginx, newName: foo}]\n",
		"longer structs spelled":          two + "configMapGenerator: [{name: x, literals: [a=b]}]\nconfigmapgenerator: [{name: y}, {name: z}]\n",
		"spelled inside":                  two + "configMapGenerator: [{Name: x, name: y, literals: [a=b]}]\n",
		"second document":                 two + "---\nnamePrefix: x-\n",
		"second document broken":          two + "---\n: : [ {\n",
		"second document a list":          two + "---\n- a\n",
		"second document comment":         two + "---\n# nothing\n",
		"three documents":                 two + "---\nx: y\n---\nz: z\n",
		"after the end":                   "---\n" + two + "...\nfoo\n",
		"first document empty":            "---\n---\n" + two,
		"first document comment":          "---\n# c\n---\n" + two,
		"carriage returns":                strings.ReplaceAll(two+"---\nnamePrefix: x-\n", "\n", "\r\n"),
		"alias":                           two + "namePrefix: &p x-\nnameSuffix: *p\n",
		"merge":                           two + "commonLabels: &l {a: b}\ncommonAnnotations: {<<: *l, c: d}\n",
		"two merges":                      two + "commonLabels: &l {a: b}\ncommonAnnotations:\n  <<: *l\n  <<: {a: c}\n",
		"merge of a field":                "x-y: 1\n" + two,
		"keys that are no text":           two + "commonLabels: {1: b, true: c}\n",
		"byte order mark":                 "\ufeff" + two,
		"nothing":                         "",
		"null":                            "null\n",
		"a word":                          "foo\n",
		"a list":                          "- a\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			likewise(t, k, text)
		})
	}
}

// TestConfigsLikeKustomize uses function configs that were written without catalogs in mind.
func TestConfigsLikeKustomize(t *testing.T) {
	t.Parallel()
	k := kustomize(t)
	for _, version := range []string{"", "apiVersion:\n  ", "apiVersion: \"\"\n  ", "apiVersion: v1\n  ", "apiVersion: example.com/v1\n  "} {
		for _, list := range []string{"generators", "transformers", "validators"} {
			for _, way := range []string{"config.kubernetes.io/function", "config.k8s.io/function"} {
				t.Run(fmt.Sprintf("%q %s %s", version, list, way), func(t *testing.T) {
					t.Parallel()
					args := map[string]string{"generators": "generate", "transformers": "", "validators": "silent"}[list]
					likewise(t, k, two+"buildMetadata: [originAnnotations, transformerAnnotations]\n"+list+":\n- |-\n  "+version+"kind: executable\n  metadata:\n    name: demo\n    annotations:\n      "+way+
						": |\n        exec: {path: ./fn, args: ["+args+"]}\n", "--enable-alpha-plugins", "--enable-exec")
				})
			}
		}
	}
	for name, text := range map[string]string{
		"nothing to run":      "kind: executable\n  metadata: {name: demo}",
		"builtin by kind":     "kind: PrefixTransformer\n  metadata: {name: demo}\n  prefix: x-",
		"an empty annotation": "kind: executable\n  metadata: {name: demo, annotations: {config.kubernetes.io/function: \"\"}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			likewise(t, k, two+"transformers:\n- |-\n  "+text+"\n", "--enable-alpha-plugins", "--enable-exec")
		})
	}
}
