package likeness

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// link is one step of a pipeline, and a Kustomization that does the same to the output of another
// one.
type link struct {
	entry string // in a Composition
	layer string // in a Kustomization, without the resources that it transforms
	files string // an archive of files next to either, by base name
}

// links returns the steps of random pipelines. i makes their names unique.
func links(i int) []link {
	indent := func(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") }
	builtin := func(kind, body string) link {
		c := fmt.Sprintf("apiVersion: builtin\nkind: %s\nmetadata: {name: b%d}\n%s", kind, i, body)
		list := "transformers"
		if strings.HasSuffix(kind, "Generator") {
			list = "generators"
		}
		return link{"- " + indent(c) + "\n", list + ":\n- |-\n  " + indent(c) + "\n", ""}
	}
	function := func(args string) link {
		return link{
			fmt.Sprintf("- apiVersion: example.com/v1\n  kind: Fn\n  metadata: {name: f%d}\n  runtime: {exec: {path: ./fn, args: [%s]}}\n", i, args),
			fmt.Sprintf("transformers:\n- |-\n  apiVersion: example.com/v1\n  kind: Fn\n  metadata:\n    name: f%d\n    annotations:\n"+
				"      config.kubernetes.io/function: |\n        exec: {path: ./fn, args: [%s]}\n", i, args), "",
		}
	}
	file := func(name, text string) link {
		return link{
			fmt.Sprintf("- kind: ResourceAccumulator\n  metadata: {name: acc%d}\n  files: [%s]\n", i, name), "resources: [" + name + "]\n",
			"-- " + name + " --\n" + text,
		}
	}
	whole := func(body string) link {
		return link{fmt.Sprintf("- kind: Kustomization\n  metadata: {name: k%d}\n  %s\n", i, indent(body)), body + "\n", ""}
	}
	cm := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {a: b}\n"
	}
	const name = "fieldSpecs: [{path: metadata/name}]"
	return []link{
		builtin("PrefixTransformer", fmt.Sprintf("prefix: p%d-\n%s", i, name)),
		builtin("SuffixTransformer", fmt.Sprintf("suffix: -s%d\n%s", i, name)),
		builtin("ConfigMapGenerator", fmt.Sprintf("name: conf\nliterals: [x=y%d]\noptions: {labels: {made: m%d}}", i, i)),
		builtin("ConfigMapGenerator", fmt.Sprintf("name: gen%d\nliterals: [x=y]", i)),
		builtin("SecretGenerator", "name: creds\nliterals: [x=y]"),
		builtin("HashTransformer", ""),
		builtin("LabelTransformer", fmt.Sprintf("labels: {l%d: v}\nfieldSpecs: [{path: metadata/labels, create: true}]", i)),
		builtin("ImageTagTransformer", fmt.Sprintf("imageTag: {name: nginx, newTag: v%d}\nfieldSpecs: [{path: \"spec/template/spec/containers[]/image\"}]", i)),
		builtin("PatchTransformer", fmt.Sprintf("patch: |-\n  - {op: add, path: /metadata/labels, value: {patched: v%d}}\ntarget: {kind: Service}", i)),
		builtin("ReplacementTransformer", "replacements:\n- source: {kind: Service, name: web}\n  targets: [{select: {kind: Thing}, fieldPaths: [spec.web]}]"),
		function(fmt.Sprintf("\"append\", \"%d\"", i)), function("\"copy\""), function("\"reverse\""), function(fmt.Sprintf("\"add\", \"new%d\", \"a=b\"", i)),
		function("\"delete\", \"thing\""), function(fmt.Sprintf("\"rename\", \"runner\", \"runner%d\"", i)), function("\"twin\", \"web\", \"conf\""),
		file(fmt.Sprintf("file%d.yaml", i), cm(fmt.Sprintf("file%d", i))), file(fmt.Sprintf("conf%d.yaml", i), cm("conf")),
		whole(fmt.Sprintf("namePrefix: k%d-\ncommonAnnotations: {note: n%d}", i, i)), whole("namespace: ns\nnameSuffix: -k"),
		whole(fmt.Sprintf("configMapGenerator: [{name: conf, literals: [k=v%d]}]\nlabels: [{pairs: {k: v%d}}]", i, i)),
		whole("replicas: [{name: web, count: 9}]\nreplacements:\n- source: {kind: ServiceAccount, name: runner}\n  targets: [{select: {kind: Thing}, fieldPaths: [spec.path]}]"),
	}
}

// TestRandomPipelines compares random pipelines with chains of Kustomizations. The chain has one
// Kustomization for each step, which transforms the output of the one below. The pipeline is
// rendered alone, or in a list of a Kustomization. What kustomize refuses, krmcat must refuse too.
func TestRandomPipelines(t *testing.T) {
	t.Parallel()
	k := kustomize(t)
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 0))
			a := &txtar.Archive{Comment: []byte("flags: --reorder=none\n")}
			add := func(name, text string) { a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)}) }
			ours := "kind: Composition\ntransformers:\n"
			const first = "- {kind: ResourceAccumulator, metadata: {name: all}, files: [all.yaml]}\n"
			dirOfOurs := "ours/app/"
			switch seed % 3 {
			case 0: // alone
				dirOfOurs = "ours/"
				ours += first
			case 1: // among the resources of a Kustomization
				ours += first
				add("ours/kustomization.yaml", "resources: [app]\n")
			case 2: // among the transformers of a Kustomization
				add("ours/kustomization.yaml", "resources: [all.yaml]\ntransformers: [app]\n")
				add("ours/all.yaml", everything)
			}
			add(dirOfOurs+"all.yaml", everything)
			add("theirs/l0/all.yaml", everything)
			add("theirs/l0/kustomization.yaml", "resources: [all.yaml]\n")
			n := 3 + r.IntN(6)
			for i := 1; i <= n; i++ {
				steps := links(i)
				l := steps[r.IntN(len(steps))]
				ours += l.entry
				dir := fmt.Sprintf("theirs/l%d/", i)
				if i == n {
					dir = "theirs/"
				}
				below := fmt.Sprintf("../l%d", i-1)
				if i == n {
					below = fmt.Sprintf("l%d", i-1)
				}
				layer := "resources: [" + below + "]\n" + l.layer
				if rest, ok := strings.CutPrefix(l.layer, "resources: ["); ok {
					layer = "resources: [" + below + ", " + rest
				}
				add(dir+"kustomization.yaml", layer)
				for _, f := range txtar.Parse([]byte(l.files)).Files {
					add(dirOfOurs+f.Name, string(f.Data))
					add(dir+f.Name, string(f.Data))
				}
			}
			add(dirOfOurs+"composition.yaml", ours)
			alikeOrRefused(t, k, a)
		})
	}
}
