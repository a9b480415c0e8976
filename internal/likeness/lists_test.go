package likeness

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// listed returns builtins that change each other's names, references and hashes. Their configs name
// the fields that they change, as the lists of kustomize require.
func listed() []string {
	return []string{
		"PrefixTransformer\nmetadata: {name: prefix}\nprefix: a-\nfieldSpecs: [{path: metadata/name}]",
		"SuffixTransformer\nmetadata: {name: suffix}\nsuffix: -z\nfieldSpecs: [{path: metadata/name}]",
		"NamespaceTransformer\nmetadata: {name: namespace, namespace: new}\nfieldSpecs:\n- {path: metadata/name, kind: Namespace, create: true}",
		"LabelTransformer\nmetadata: {name: labels}\nlabels: {team: t}\nfieldSpecs:\n- {path: metadata/labels, create: true}\n- {path: spec/selector, kind: Service, create: true}",
		"ReplacementTransformer\nmetadata: {name: replacement}\nreplacements:\n- source: {kind: Service, name: web}\n  targets:\n  - {select: {kind: Thing}, fieldPaths: [spec.web]}",
		"PatchTransformer\nmetadata: {name: patch}\npatch: |-\n  apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: web, labels: {patched: \"yes\"}}\n" +
			"  spec: {template: {spec: {volumes: [{name: more, secret: {secretName: creds}}]}}}",
	}
}

// orders returns some orders of n things: forwards, backwards, and cyclic with steps of several
// lengths.
func orders(n int) [][]int {
	var all [][]int
	for _, o := range []struct{ start, step int }{{0, 1}, {5, 5}, {2, 1}, {3, 5}, {4, 1}} {
		var order []int
		for i := range n {
			order = append(order, (o.start+i*o.step)%n)
		}
		all = append(all, order)
	}
	// These orders are neither rotations nor reversals of the others.
	return append(all, []int{3, 0, 4, 1, 5, 2}, []int{1, 4, 0, 5, 2, 3}, []int{5, 2, 4, 3, 0, 1})
}

// TestListsLikeTransformers compares sequences of builtins in a Composition with the same sequences
// in the lists of Kustomizations. kustomize generates before it transforms. If the Composition
// generates between two transformers, two Kustomizations are needed.
func TestListsLikeTransformers(t *testing.T) {
	t.Parallel()
	k := kustomize(t)
	const generators = "ConfigMapGenerator\nmetadata: {name: conf}\nname: conf\nliterals: [x=y]\n" +
		"===SecretGenerator\nmetadata: {name: creds}\nname: creds\nliterals: [x=y]\n"
	indent := func(s string) string { return strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") }
	for i, order := range orders(len(listed())) {
		for _, at := range []int{0, 2, 5} { // number of transformers before the generators
			t.Run(fmt.Sprintf("%v generated at %d", order, at), func(t *testing.T) {
				t.Parallel()
				ours := "kind: Composition\ntransformers:\n- kind: ResourceAccumulator\n  files: [all.yaml]\n"
				base, top := "", ""
				for j, k := range order {
					if j == at {
						for _, g := range strings.Split(generators, "===") {
							ours += "- kind: " + indent(g) + "\n"
							top = "generators:\n" + strings.TrimPrefix(top, "generators:\n") + "- |-\n  apiVersion: builtin\n  kind: " + indent(g) + "\n"
						}
						top += "transformers:\n"
					}
					c := listed()[k]
					ours += "- kind: " + indent(c) + "\n"
					listed := "- |-\n  apiVersion: builtin\n  kind: " + indent(c) + "\n"
					if j < at {
						base += listed
					} else {
						top += listed
					}
				}
				if base != "" {
					base = "transformers:\n" + base
				}
				comment := "flags: --reorder=none\n" // every other time only, so that both code paths run
				if i%2 == 1 {
					comment = ""
				}
				alike(t, k, txtar.Parse([]byte(comment+"-- ours/composition.yaml --\n"+ours+"-- ours/all.yaml --\n"+everything+
					"-- theirs/kustomization.yaml --\nresources: [base]\n"+top+
					"-- theirs/base/kustomization.yaml --\nresources: [all.yaml]\n"+base+"-- theirs/base/all.yaml --\n"+everything)))
			})
		}
	}
}
