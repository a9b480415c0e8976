package render_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const composition = "-- composition.yaml --\nkind: Composition\n"

// endless are Compositions that import themselves, or too much.
func endless() []attack {
	self := func(list string) string {
		return "-- c/composition.yaml --\nkind: Composition\ntransformers: [{kind: Kustomization, " + list + "}]\n" + cm
	}
	layer := "-- kustomization.yaml --\nresources: [cm.yaml]\n"
	return []attack{
		{"a Kustomization that lists its Composition", layer + "transformers: [c]\n" + self("transformers: [../c]"), "cycle: "},
		{"a Kustomization that generates its Composition", "-- kustomization.yaml --\nresources: [c]\n" + self("generators: [../c]"), "cycle: "},
		{"a Kustomization that accumulates its Composition", layer + "transformers: [c]\n" + self("resources: [../k]") + "-- k/kustomization.yaml --\ntransformers: [../c]\n", "cycle: "},
		{"a Kustomization that lists its Composition as text", layer + "transformers: [c]\n" + self(`transformers: ["{kind: Composition, transformersFrom: [{path: ../c}]}"]`), "cycle: "},
		{"a Kustomization that validates with its Composition", layer + "transformers: [c]\n" + self("validators: [../c]"), "a validator must not"},
		{"a Composition that imports what imports it", composition + "transformersFrom: [{path: a}]\n-- a/composition.yaml --\nkind: Composition\ntransformersFrom: [{path: ..}]\n", "cycle: "},
		{"a Composition that accumulates what lists it", composition + "transformers: [{kind: ResourceAccumulator, files: [k]}]\n-- k/kustomization.yaml --\nresources: []\ntransformers: [..]\n", "cycle: "},
		{"Compositions as resources, doubled", composition + "transformers: [{kind: ResourceAccumulator, files: [c0]}]\n" + doubledResources(30), "as resources again and again"},
		{"bases, doubled", "-- kustomization.yaml --\nbases: [a0, b0]\n" + doubledBases(30), "as resources again and again"},
		{"Compositions as resources, nested", composition + "transformers: [{kind: ResourceAccumulator, files: [c0]}]\n" + nested(40), "levels deep"},
		{"Components, nested", layer + "components: [c0]\n" + cm + nestedComponents(40), "levels deep"},
		{"directories of configs, doubled", layer + "transformers: [c0]\n" + cm + doubledConfigs(30), "list others again and again"},
		{"Compositions in lists, doubled", layer + "transformers: [c0]\n" + cm + doubled(40), "again and again"},
	}
}

// large are small files that expand to large targets.
func large() []attack {
	some := "- {apiVersion: e/v1, kind: F, metadata: {name: n#}}\n"
	base := "-- b/composition.yaml --\nkind: Composition\ntransformers:\n"
	from := composition + "transformersFrom: [{path: b}]\n"
	many := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(line, "#", strconv.Itoa(i)))
		}
		return b.String()
	}
	return []attack{
		{"a long order", composition + "transformers:\n" + many(20_000, some) + "transformerOrder:\n- {name: other}\n" + many(20_000, "- {name: n#}\n"), "names other, and there is no such transformer"},
		{"a long order of others", composition + "transformers:\n" + many(10_000, some) + "transformerOrder:\n" + many(10_000, "- {name: m#}\n"), "names m0, and there is no such transformer"},
		{"many overrides of nothing", from + "transformerOverrides:\n" + many(10_000, "- {apiVersion: e/v1, kind: F, metadata: {name: m#}}\n") + base + many(10_000, some), "matches no imported transformer"},
		{"many overrides of one", from + "transformerOverrides:\n" + many(10_000, "- {apiVersion: e/v1, kind: F, metadata: {name: n0}}\n") + base + many(1, some), "is overridden more than 256 times"},
		{"many imports of many", composition + "transformersFrom:\n" + many(2_000, "- {path: b}\n") + base + many(2_000, some), "imports of imports bring more than"},
		{"many builtins", composition + "transformers:\n- {kind: ResourceAccumulator, files: [cm.yaml]}\n" + many(3_000, "- {kind: PrefixTransformer, metadata: {name: n#}, prefix: ''}\n") + cm, ""},
		{"imports in diamonds", composition + "transformersFrom: [{path: c0}]\n" + diamonds(30), ""},
		{"an alias bomb in an override", from + "transformerOverrides:\n- {apiVersion: e/v1, kind: F, metadata: {name: n0}, spec: {\n" + strings.ReplaceAll(bomb(), "]\n", "],\n") + "}}\n" + base + many(1, some), "its aliases stand for too much"},
		{"an alias bomb in a text in a Kustomization", composition + "transformers:\n- kind: Kustomization\n  transformers:\n  - |\n    apiVersion: e/v1\n    kind: F\n" + strings.ReplaceAll("\n"+strings.TrimSpace(bomb()), "\n", "\n    ") + "\n", "its aliases stand for too much"},
		{"an alias bomb in a patch in a Kustomization", composition + "transformers:\n- kind: Kustomization\n  patches:\n  - patch: |\n" + deep("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"+bomb()), "its aliases stand for too much"},
		{"an alias bomb in a file of a Composition", composition + "transformers: [{kind: ResourceAccumulator, files: [b.yaml]}, {kind: PrefixTransformer, prefix: x}]\n-- b.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n" + bomb(), "its aliases stand for too much"},
		{"an alias bomb in a file that kustomize does not read", composition + "transformers: [{kind: ResourceAccumulator, files: [b.yaml]}]\n-- b.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n" + bomb(), "its aliases stand for too much"},
	}
}

// elsewhere are Compositions that read files outside their directory.
func elsewhere() []attack {
	files := func(path string) string {
		return composition + "transformers: [{kind: ResourceAccumulator, files: [" + path + "]}]\n"
	}
	kust := func(fields string) string {
		return composition + "transformers: [{kind: Kustomization, " + fields + "}]\n"
	}
	swap := "{apiVersion: e/v1, kind: F, runtime: {exec: {path: ./swap.sh}}}"
	swapped := cm + "-- swap.sh --\n#!/bin/sh\nln -sf /etc/hostname cm.yaml\ncat\n"
	restricted := "the load restrictor keeps files there"
	return []attack{
		{"a file above", files("../../x/../001/" + strings.Repeat("../", 50) + "etc/passwd"), restricted},
		{"a file of the system", files("/etc/passwd"), restricted},
		{"a link to a file of the system", files("l") + "-- l -> /etc/passwd --\n", restricted},
		{"a file behind a linked directory", files("l/passwd") + "-- l -> /etc --\n", restricted},
		{"a directory of the system", files("/etc"), "has to be relative"},
		{"an import of a file of the system", composition + "transformersFrom: [{path: /etc/passwd}]\n", restricted},
		{"an import of a file beside", files("a") + "-- a/composition.yaml --\nkind: Composition\ntransformersFrom: [{path: ../secret.txt}]\n-- secret.txt --\nPASSWORD: x\n", restricted},
		{"an import of a link", composition + "transformersFrom: [{path: a.yaml}]\n-- a.yaml -> /etc/passwd --\n", restricted},
		{"an import of a linked Composition", composition + "transformersFrom: [{path: a}]\n-- a/composition.yaml -> /etc/passwd --\n", "leads out of its directory"},
		{"a linked Composition", files("c") + "-- c/composition.yaml -> ../x.yaml --\n-- x.yaml --\nkind: Composition\n", "leads out of its directory"},
		{"a list that is a link", composition + "transformers: [l]\n-- l -> /etc/passwd --\n", restricted},
		{"a list above", composition + "transformers: [/etc/passwd]\n", restricted},
		{"nothing as a path", files("null"), "a path is expected"},
		{"a number as a path", files("1"), "this is a number"},
		{"a line break in a path", files(`"a\nb"`), "control character"},
		{"a resource in a Kustomization", kust("resources: [/etc/passwd]"), restricted},
		{"a patch in a Kustomization", kust("patches: [{path: /etc/passwd}]"), restricted},
		{"an old patch in a Kustomization", kust("patchesStrategicMerge: [/etc/passwd]"), restricted},
		{"an old patch that looks like text", kust("patchesStrategicMerge: ['../../../../../../../etc/{passwd']"), "evalsymlink failure"},
		{"data in a Kustomization", kust("configMapGenerator: [{name: g, files: [a=/etc/passwd]}]"), restricted},
		{"an environment in a Kustomization", kust("secretGenerator: [{name: g, envs: [/etc/passwd]}]"), restricted},
		{"a schema in a Kustomization", kust("openapi: {path: /etc/passwd}"), restricted},
		{"a configuration in a Kustomization", kust("configurations: [/etc/passwd]"), restricted},
		{"a list of a Kustomization", kust("transformers: [/etc/passwd]"), restricted},
		{"a builtin in a list of a Kustomization", kust(`generators: ["{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: g}, name: g, files: [/etc/passwd]}"]`), restricted},
		{"a builtin as a mapping in a list of a Kustomization", kust(`generators: [{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: g}, name: g, files: [/etc/passwd]}]`), restricted},
		{"a URL in a list of a Kustomization", kust(`generators: [{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: g}, name: g, files: ['a=https://example.com/x']}]`), "cannot be remote"},
		{"a repository as a resource", files("'github.com/a/b'"), "remote resources are not supported yet"},
		{"a repository as an import", composition + "transformersFrom: [{path: 'https://github.com/a/b'}]\n", "remote Compositions are not supported yet"},
		{"a repository in a list", composition + "transformers: ['git@example.com:a/b']\n", "remote function configs are not supported yet"},
		{"a repository as a Component", kust("components: ['https://github.com/a/b']"), "cannot be remote yet"},
		{"a file that a function swaps", composition + "transformers: [" + swap + ", {kind: ResourceAccumulator, files: [cm.yaml]}]\n" + swapped, restricted},
		{"a file that a function swaps for kustomize", composition + "transformers: [" + swap + ", {kind: PatchTransformer, path: cm.yaml}]\n" + swapped, restricted},
	}
}

// broken are Compositions for which kustomize or a function fails. The errors must not show
// krmcat's virtual files.
func broken() []attack {
	list := func(entries string) string {
		return composition + "transformers: [{kind: ResourceAccumulator, files: [cm.yaml]}, {kind: PrefixTransformer, prefix: x-}, " + entries + "]\n" + cm
	}
	kust := func(fields string) string { return list("{kind: Kustomization, "+fields+"}") + "-- bad --\n=x\n" }
	fn := func(script string) string {
		return list("{apiVersion: e/v1, kind: F, runtime: {exec: {path: ./f.sh}}}, {kind: ConfigMapGenerator, name: g}") + "-- f.sh --\n#!/bin/sh\n" + script + "\n"
	}
	one := `printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: g}\n---\n`
	validator := func(script string) string {
		return "-- kustomization.yaml --\nresources: [cm.yaml]\nvalidators: [v]\n-- v/composition.yaml --\nkind: Composition\ntransformers:\n" +
			"- {apiVersion: e/v1, kind: F, runtime: {exec: {path: ./f.sh}}}\n- {apiVersion: e/v1, kind: G, runtime: {exec: {path: ./cat.sh}}}\n-- v/cat.sh --\n#!/bin/sh\ncat\n" +
			"-- v/f.sh --\n#!/bin/sh\n" + script + "\n" + cm
	}
	return []attack{
		{"a resource twice", list("{kind: ResourceAccumulator, metadata: {name: z}, files: [cm.yaml, cm.yaml]}"), "already registered id"},
		{"a resource that is none", list("{kind: ResourceAccumulator, metadata: {name: z}, files: [b]}") + "-- b --\na: b\n", "b'"},
		{"a resource that is no YAML", list("{kind: ResourceAccumulator, metadata: {name: z}, files: [b]}") + "-- b --\na: [\n", "b:1"},
		{"a directory without a kustomization", list("{kind: ResourceAccumulator, metadata: {name: z}, files: [d]}") + "-- d/x --\n", "none of kustomization.yaml"},
		{"a patch of nothing", list("{kind: PatchTransformer, path: b}") + "-- b --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: none}}\n", "no matches for Id"},
		{"a patch that is no YAML", list("{kind: PatchTransformer, path: b}") + "-- b --\na: [\n", "b"},
		{"a patch that is no list", list("{kind: PatchJson6902Transformer, path: b, target: {kind: X}}") + "-- b --\na: b\n", "PatchJson6902Transformer"},
		{"a replacement that is none", list("{kind: ReplacementTransformer, replacements: [{path: b}]}") + "-- b --\n=x\n", "ReplacementTransformer"},
		{"a Kustomization with a bad patch", kust("patches: [{path: bad}]"), "patch"},
		{"a Kustomization with a bad configuration", kust("configurations: [bad]"), "TransformerConfig"},
		{"a Kustomization with a bad definition", kust("crds: [bad]"), "loading CRDs"},
		{"a Kustomization with a bad resource", kust("resources: [bad]"), "bad"},
		{"a Kustomization with a resource that is there", kust("resources: [d]") + "-- d/kustomization.yaml --\nnamePrefix: x-\nresources: [../cm.yaml]\n", "load restrictor"},
		{"a Kustomization as a Component", kust("components: [d]") + "-- d/kustomization.yaml --\nnamePrefix: x-\n", "Component"},
		{"a Component as a resource", kust("resources: [d]") + "-- d/kustomization.yaml --\nkind: Component\n", "Component"},
		{"a function that returns what comes", fn(one + "'"), "exists"},
		{"a function that returns a thing twice", fn(one + `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: g}\n'`), "twice"},
		{"a function that returns no YAML", fn("echo 'a: [b'"), "its output cannot be used"},
		{"a function that returns a Step", fn(`printf 'apiVersion: krmcat.dev/v1alpha1\nkind: Step\nmetadata: {name: step-0}\nrun: 0\n'`), ""},
		{"a function that fails", fn("cat >/dev/null; exit 3"), "exit code 3"},
		{"a validator that changes", validator("sed 's/^\\( *\\)kind: ConfigMap/&\\n\\1data: {a: b}/'"), "a validator must not change resources"},
		{"a validator that renames", validator("sed 's/name: one/name: two/'"), "a validator must not add resources"},
		{"a Composition that imports itself as text", list("'{kind: Composition}'"), "needs an apiVersion"},
		{"a list of configs in a Composition", list("{apiVersion: v1, kind: List, items: [{kind: PrefixTransformer, prefix: y-}]}"), "stands twice"},
	}
}

// forged are targets in which the user's text looks like a virtual name of krmcat.
func forged() []attack {
	own := "names that begin with .krmcat-"
	// The name means a/data.yaml, which b must not read.
	two := func(list string) string {
		return "-- kustomization.yaml --\nresources: [a, b]\n-- a/composition.yaml --\nkind: Composition\ntransformers: [{kind: ResourceAccumulator, files: [data.yaml]}]\n" +
			"-- a/data.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n-- b/kustomization.yaml --\nnamePrefix: b-\n" + list
	}
	return []attack{
		{"a name of ours as a resource", two("resources: [.krmcat-0.data]"), own},
		{"a name of ours as data", two("configMapGenerator: [{name: h, files: [.krmcat-0.data]}]"), own},
		{"a name of ours as data, with a key", two("secretGenerator: [{name: h, files: [k=.krmcat-0.data]}]"), own},
		{"a name of ours as a patch", two("resources: [../a]\npatches: [{path: .krmcat-0.data}]"), own},
		{"a name of ours in a list", two("resources: []\ntransformers: [.krmcat-0.data]"), own},
		{"a name of ours in a builtin", two("resources: []\ngenerators: [{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: g}, files: [.krmcat-0.data]}]"), own},
		{"a name of ours in a Composition", two("resources: [c]\n-- b/c/composition.yaml --\nkind: Composition\ntransformers: [{kind: ResourceAccumulator, files: [.krmcat-0.data]}]"), own},
		{"a name of ours in an override", two("resources: [c]\n-- b/c/composition.yaml --\nkind: Composition\ntransformersFrom: [{path: ../../a}]\n" +
			"transformerOverrides: [{kind: ResourceAccumulator, files: [.krmcat-0.data]}]"), own},
		{"a name of ours in a Kustomization", two("resources: [c]\n-- b/c/composition.yaml --\nkind: Composition\ntransformers: [{kind: Kustomization, resources: [.krmcat-0.data]}]"), own},
		{"a name of ours in a text in a Kustomization", two("resources: [c]\n-- b/c/composition.yaml --\nkind: Composition\n" +
			`transformers: [{kind: Kustomization, transformers: ["{apiVersion: builtin, kind: PatchTransformer, metadata: {name: p}, path: .krmcat-0.data}"]}]`), own},
		{"a name of ours as an import", two("resources: [c]\n-- b/c/composition.yaml --\nkind: Composition\ntransformersFrom: [{path: .krmcat-0.data}]"), own},
		{"a name of ours as a list's entry", two("resources: [c]\n-- b/c/composition.yaml --\nkind: Composition\ntransformers: [.krmcat-0.data]"), "no such file"},
		{"a name of ours made by a directory of configs", two("resources: []\ntransformers: [d]\n-- b/d/kustomization.yaml --\nresources: [p.yaml]\n-- b/d/p.yaml --\n" +
			"apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: .krmcat-0.data"), own},
		{"a directory of ours", two("resources: [../../../../../../../.krmcat-0]"), own},
		{"a directory of ours in a Composition", two("resources: [c]\n-- b/c/composition.yaml --\nkind: Composition\ntransformers: [{kind: ResourceAccumulator, files: [../../../../../../../.krmcat-0]}]"), own},
		{"a name of ours on the disk", two("resources: [../a]") + "\n-- a/.krmcat-0.data -> /etc/passwd --\n-- b/.krmcat-0.data -> /etc/passwd --\n", ""},
		{"a name of ours as text", two("resources: [c]\n-- b/c/composition.yaml --\nkind: Composition\ntransformers: [{kind: ConfigMapGenerator, name: g, literals: [a=.krmcat-0.data]}]"), ""},
	}
}

// charts are targets with helm. Those whose names begin with "helm" have no flag for it.
func charts() []attack {
	chart := func(fields string) string {
		return composition + "transformers: [{kind: HelmChartInflationGenerator, " + fields + "}]\n-- charts/x/Chart.yaml --\nname: x\n"
	}
	list := `"{apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {name: h}, name: x, repo: 'https://example.com/x', version: v1}"`
	return []attack{
		{"helm in a Composition", chart("name: x"), "helm runs only with --enable-helm"},
		{"helm in a Kustomization", composition + "transformers: [{kind: Kustomization, helmCharts: [{name: x}]}]\n", "--enable-helm"},
		{"helm in a Kustomization's list", composition + "transformers: [{kind: Kustomization, generators: [" + list + "]}]\n", "a chart is a transformer of its own"},
		{"a chart in a Kustomization's list", composition + "transformers: [{kind: Kustomization, generators: [" + list + "]}]\n", "a chart is a transformer of its own"},
		{"a chart in a directory of configs", "-- kustomization.yaml --\ntransformers: [c]\n-- c/kustomization.yaml --\nresources: [d]\n-- c/d/composition.yaml --\nkind: Composition\n" +
			"transformers: [{kind: HelmChartInflationGenerator, name: x}]\n", "helm does not run to make function configs"},
		{"a chart above", chart("name: ../../x, valuesFile: v.yaml") + "-- v.yaml --\na: b\n", "are no paths"},
		{"a chart above, by its version", chart("name: x, repo: 'https://example.com/x', version: ../../../x"), "are no paths"},
		{"a chart above, in a kustomization", "-- kustomization.yaml --\nhelmCharts: [{name: ../../x}]\n", "are no paths"},
		{"a chart above, in a kustomization's list", "-- kustomization.yaml --\ngenerators: [{apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {name: h}, name: ../../x}]\n", "are no paths"},
		{"a home of charts above", chart("name: x, chartHome: ../x"), "the load restrictor keeps files there"},
		{"a home of charts elsewhere", chart("name: x, chartHome: /etc"), "the load restrictor keeps files there"},
		{"a home of charts that is a link", chart("name: x, chartHome: l") + "-- l -> /etc --\n", "the load restrictor keeps files there"},
		{"a chart that is a link", chart("name: y") + "-- charts/y -> /etc --\n", "the load restrictor keeps files there"},
		{"values elsewhere", chart("name: x, valuesFile: /etc/passwd"), "the load restrictor keeps files there"},
		{"values that are a link", chart("name: x, valuesFile: v") + "-- v -> /etc/passwd --\n", "the load restrictor keeps files there"},
		{"values from a URL", chart("name: x, valuesFile: 'https://example.com/v'"), "cannot be remote"},
		{"values by another name", chart("name: x, additionalValuesFiles: [/etc/passwd]"), "additionalValuesFiles"},
	}
}

// overrides are Compositions that change imported transformers to others.
func overrides() []attack {
	over := func(override, of string) string {
		return composition + "transformersFrom: [{path: base}]\ntransformerOverrides: [" + override + "]\n" +
			"-- base/composition.yaml --\nkind: Composition\ntransformers: [{kind: ResourceAccumulator, files: [cm.yaml]}, " + of + "]\n" + strings.Replace(cm, "cm.yaml", "base/cm.yaml", 1)
	}
	prefix := "{kind: PrefixTransformer, metadata: {name: p}, prefix: x-}"
	patch := "{kind: PatchTransformer, metadata: {name: p}, patch: '[]', target: {kind: X}}"
	fn := "{apiVersion: e/v1, kind: F, metadata: {name: f}}"
	kust := "{kind: Kustomization, metadata: {name: k}, namePrefix: x-}"
	// The patch is in the directory of the base, not in that of the override that names it.
	inBase := "-- base/p.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: b}}\n"
	inText := `'{apiVersion: builtin, kind: PatchTransformer, metadata: {name: p}, path: p.yaml}'`
	container := "annotations: {config.kubernetes.io/function: 'container: {image: example.com/f}'}"
	alpha, nothing := "nothing on this machine runs container images", "matches no imported transformer"
	return []attack{
		{"an override with another spelling of builtin", over("{apiVersion: /builtin, kind: PatchTransformer, metadata: {name: p}, path: 'https://example.com/x'}", patch), "is no apiVersion"},
		{"an override with another spelling of builtin, of files", over("{apiVersion: /builtin, kind: ResourceAccumulator, files: [/etc/passwd]}", prefix), "is no apiVersion"},
		{"an override of another kind", over("{kind: SuffixTransformer, metadata: {name: p}, suffix: x}", prefix), nothing},
		{"an override that makes a builtin of a function", over("{apiVersion: builtin, kind: PrefixTransformer, metadata: {name: f}, prefix: x}", fn), nothing},
		{"an override that makes a function of a builtin", over("{apiVersion: e/v1, kind: PrefixTransformer, metadata: {name: p}}", prefix), nothing},
		{"an override of another version of a Kustomization", over("{apiVersion: kustomize.config.k8s.io/v1, kind: Kustomization, metadata: {name: k}, resources: [/etc/passwd]}", kust), nothing},
		{"an override with a container", over("{apiVersion: e/v1, kind: F, metadata: {name: f, "+container+"}}", fn), alpha},
		{"an override with a container for a builtin", over("{kind: PrefixTransformer, metadata: {name: p, "+container+"}, prefix: y-}", prefix), ""},
		{"an override with a runtime", over("{apiVersion: e/v1, kind: F, metadata: {name: f}, runtime: {container: {image: example.com/f}}}", fn), alpha},
		{"an override with a runtime for a builtin", over("{kind: PrefixTransformer, metadata: {name: p}, runtime: {container: {image: example.com/f}}}", prefix), `unknown field "runtime"`},
		{"an override that deletes", over("{apiVersion: e/v1, kind: F, metadata: {name: f}, $patch: delete}", fn), "the override deletes the whole"},
		{"an override that deletes a builtin", over("{kind: PrefixTransformer, metadata: {name: p}, $patch: delete}", prefix), "the override deletes the whole"},
		{"an override that replaces", over("{apiVersion: e/v1, kind: F, metadata: {name: f, $patch: replace, "+container+"}, $patch: replace}", fn), alpha},
		{"an override with a field twice", over("{kind: PrefixTransformer, metadata: {name: p}, prefix: a, prefix: b}", prefix), "is written twice"},
		{"an override in another case", over("{kind: PatchTransformer, metadata: {name: p}, Path: /etc/passwd}", patch), `unknown field "Path"`},
		{"an override in another alphabet", over("{kind: PatchTransformer, metadata: {name: p}, 'pat\u0125': /etc/passwd}", patch), "unknown field"},
		{"an override with a merge key", over("{kind: PatchTransformer, metadata: {name: p}, <<: {path: /etc/passwd}}", patch), "is not in or below"},
		{"an override with a path above", over("{kind: PatchTransformer, metadata: {name: p}, path: ../p.yaml}", patch) + "-- ../p.yaml --\n", "is not in or below"},
		{"an override with a URL", over("{kind: PatchTransformer, metadata: {name: p}, path: 'https://example.com/x'}", patch), "cannot be remote"},
		{"an override with a URL in a Kustomization", over("{kind: Kustomization, metadata: {name: k}, resources: ['https://example.com/x']}", kust), "cannot be remote"},
		{"an override that names a file of the base", over("{kind: PatchTransformer, metadata: {name: p}, path: p.yaml}", patch) + inBase, "p.yaml: no such file"},
		{"an override whose text names a file of the base", over("{kind: Kustomization, metadata: {name: k}, transformers: ["+inText+"]}", kust) + inBase, "p.yaml: no such file"},
		{"an override whose config names a file of the base", over("{kind: Kustomization, metadata: {name: k}, transformers: ["+strings.Trim(inText, "'")+"]}", kust) + inBase, "p.yaml: no such file"},
		{"an override whose file names a file of the base", over("{kind: Kustomization, metadata: {name: k}, transformers: [t.yaml]}", kust) + inBase + "-- t.yaml --\n" + strings.Trim(inText, "'") + "\n", "p.yaml: no such file"},
		{"an override whose annotation names a program of the base", over("{apiVersion: e/v1, kind: F, metadata: {name: f, annotations: {config.kubernetes.io/function: 'exec: {path: ./f.sh}'}}}", fn) +
			"-- base/f.sh --\n#!/bin/sh\nexit 7\n-- f.sh --\n#!/bin/sh\ncat\n", ""},
		{"an override for the whole build", over("{kind: Kustomization, metadata: {name: k}, buildMetadata: [originAnnotations]}", kust), "is for the whole build"},
	}
}

// doubledResources is a chain of Compositions, each of which accumulates the next one twice.
func doubledResources(levels int) string {
	s := ""
	for i := range levels {
		s += fmt.Sprintf("-- c%d/composition.yaml --\nkind: Composition\ntransformers: [{kind: ResourceAccumulator, files: [../a%d, ../b%d]}]\n", i, i, i)
		for _, side := range "ab" {
			s += fmt.Sprintf("-- %c%d/composition.yaml --\nkind: Composition\ntransformers: [{kind: ResourceAccumulator, files: [../c%d]}]\n", side, i, i+1)
		}
	}
	return s + fmt.Sprintf("-- c%d/composition.yaml --\nkind: Composition\ntransformers: [{kind: PrefixTransformer, prefix: x-}]\n", levels)
}

// doubledBases is the same with Kustomizations and the deprecated field bases.
func doubledBases(levels int) string {
	s := ""
	for i := range levels {
		for _, side := range "ab" {
			s += fmt.Sprintf("-- %c%d/kustomization.yaml --\nbases: [../a%d, ../b%d]\n", side, i, i+1, i+1)
		}
	}
	return s + fmt.Sprintf("-- a%d/kustomization.yaml --\nnamePrefix: a-\n-- b%d/kustomization.yaml --\nnamePrefix: b-\n", levels, levels)
}

// doubledConfigs is a chain of directories of function configs, each of which lists the next one
// twice.
func doubledConfigs(levels int) string {
	s, p := "", "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: x-\n"
	for i := range levels {
		s += fmt.Sprintf("-- c%d/kustomization.yaml --\nresources: [p.yaml]\ntransformers: [../c%d, ../c%d/.]\n-- c%d/p.yaml --\n%s", i, i+1, i+1, i, p)
	}
	return s + fmt.Sprintf("-- c%d/kustomization.yaml --\nresources: [p.yaml]\n-- c%d/p.yaml --\n%s", levels, levels, p)
}

// nested is a chain of Compositions, each of which accumulates the next one, with an error at the
// end.
func nested(levels int) string {
	s := ""
	for i := range levels {
		s += fmt.Sprintf("-- c%d/composition.yaml --\nkind: Composition\ntransformers: [{kind: ResourceAccumulator, files: [../c%d]}]\n", i, i+1)
	}
	return s + fmt.Sprintf("-- c%d/kustomization.yaml --\nresources: [a.yaml]\n-- c%d/a.yaml --\na: b\n", levels, levels)
}

// nestedComponents is the same with Components.
func nestedComponents(levels int) string {
	s := ""
	for i := range levels {
		s += fmt.Sprintf("-- c%d/kustomization.yaml --\nkind: Component\ncomponents: [../c%d]\n", i, i+1)
	}
	return s + fmt.Sprintf("-- c%d/kustomization.yaml --\nkind: Component\nresources: [a.yaml]\n-- c%d/a.yaml --\na: b\n", levels, levels)
}

// diamonds is a chain of Compositions, each of which imports the next one in two ways.
func diamonds(levels int) string {
	s := ""
	for i := range levels {
		s += fmt.Sprintf("-- c%d/composition.yaml --\nkind: Composition\ntransformersFrom: [{path: ../a%d}, {path: ../b%d}]\n", i, i, i)
		for _, side := range "ab" {
			s += fmt.Sprintf("-- %c%d/composition.yaml --\nkind: Composition\ntransformersFrom: [{path: ../c%d}]\n", side, i, i+1)
		}
	}
	return s + fmt.Sprintf("-- c%d/composition.yaml --\nkind: Composition\ntransformers: [{kind: PrefixTransformer, prefix: x-}]\n", levels)
}

// doubled is a chain of Compositions, each of which lists the next one twice.
func doubled(levels int) string {
	s := ""
	for i := range levels {
		s += fmt.Sprintf("-- c%d/composition.yaml --\nkind: Composition\ntransformers: [{kind: Kustomization, metadata: {name: k}, transformers: [../c%d, ../c%d/.]}]\n", i, i+1, i+1)
	}
	return s + fmt.Sprintf("-- c%d/composition.yaml --\nkind: Composition\ntransformers: [{kind: PrefixTransformer, prefix: x-}]\n", levels)
}

// TestCompositionAttacks changes PATH, so it does not run in parallel.
func TestCompositionAttacks(t *testing.T) { //nolint:paralleltest // see above
	check := tripwires(t)
	for _, a := range slices.Concat(endless(), large(), elsewhere(), broken(), forged(), charts(), overrides()) {
		t.Run(a.name, func(t *testing.T) {
			err := a.strike(t, check)
			for _, inner := range []string{".krmcat-", "krmcat.dev/v1alpha1", "/krmcat-"} {
				if err != nil && !strings.Contains(a.name, "of ours") && strings.Contains(err.Error(), inner) {
					t.Errorf("the error shows what exists only inside: %v", err)
				}
			}
		})
	}
}

// TestHelmRunsNoPluginsOfTheTarget checks that a chart cannot set helm's configuration directory,
// which may contain plugins.
func TestHelmRunsNoPluginsOfTheTarget(t *testing.T) { //nolint:paralleltest // it owns the environment
	t.Setenv("HELM_PLUGINS", "")
	if err := os.Unsetenv("HELM_PLUGINS"); err != nil {
		t.Fatal(err)
	}
	for _, files := range []string{
		"-- kustomization.yaml --\nhelmGlobals: {configHome: ./home}\nhelmCharts: [{name: x, repo: 'evil://x'}]\n",
		composition + "transformers: [{kind: HelmChartInflationGenerator, name: x, repo: 'evil://x', configHome: ./home}]\n",
	} {
		dir := unpack(t, files+"-- helm --\n#!/bin/sh\nprintf %s \"$HELM_PLUGINS\" > \"${0%/*}/seen\"\nexit 1\n")
		o := optionsFor(t, dir)
		o.Target.Helm.Enabled, o.Target.Helm.Command = true, filepath.Join(dir, "helm")
		if err := os.Chmod(o.Target.Helm.Command, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := newRenderer(t).Render(t.Context(), o); err == nil {
			t.Error("it was rendered")
		}
		seen, err := os.ReadFile(filepath.Join(dir, "seen"))
		if err != nil || string(seen) != os.DevNull {
			t.Errorf("helm looks for plugins in %q: %v", seen, err)
		}
	}
}

// TestCompositionRunsAsPlanned checks that functions run in the order of the plan, once per entry,
// also across Components.
func TestCompositionRunsAsPlanned(t *testing.T) {
	t.Parallel()
	fn := func(name, at string) string {
		return "{apiVersion: e/v1, kind: F, metadata: {name: " + name + "}, runtime: {exec: {path: " + at + "cat.sh}}}"
	}
	list := func(dir string) string {
		return "-- " + dir + "/composition.yaml --\nkind: Composition\ntransformers: [" + fn(dir+"-1", "../") + ", {kind: ConfigMapGenerator, metadata: {name: g-" + dir + "}, name: g-" + dir + "}, " + fn(dir+"-2", "../") + "]\n"
	}
	functions := "-- v/composition.yaml --\nkind: Composition\ntransformers: [" + fn("v-1", "../") + ", " + fn("v-2", "../") + "]\n-- cat.sh --\n#!/bin/sh\ncat\n" + cm
	lists := "generators: [g]\ntransformers: ['" + fn("a", "./") + "', t, f.yaml, u]\nvalidators: ['" + fn("b", "./") + "', v]\n-- f.yaml --\n" + fn("f", "./") + "\n"
	for name, files := range map[string]string{
		"a kustomization":    "-- kustomization.yaml --\nresources: [cm.yaml]\n" + lists,
		"in another order":   "-- kustomization.yaml --\nsortOptions: {order: fifo}\nresources: [cm.yaml]\n" + lists,
		"with origins":       "-- kustomization.yaml --\nbuildMetadata: [originAnnotations, transformerAnnotations]\nresources: [cm.yaml]\n" + lists,
		"two Kustomizations": "-- kustomization.yaml --\nresources: [k, l]\n-- k/kustomization.yaml --\nnamePrefix: x-\ntransformers: [../t, ../v]\n-- l/kustomization.yaml --\nnamePrefix: y-\ntransformers: [../v, ../u, ../v]\n",
		"a Composition": composition + "transformersFrom: [{path: u, importMode: append}, {path: t}]\ntransformers: [" + fn("a", "./") + ", {kind: Kustomization, generators: [g], transformers: [v, '" +
			fn("b", "./") + "'], validators: [v]}, " + fn("c", "./") + "]\n",
	} {
		dir := unpack(t, files+list("g")+list("t")+list("u")+functions)
		o := optionsFor(t, dir)
		o.Target.LoadAnywhere = true
		plan, err := newRenderer(t).Plan(t.Context(), o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var planned, ran []string
		for _, s := range plan.Steps {
			planned = append(planned, s.Name)
		}
		out, err := newRenderer(t).Render(t.Context(), o)
		for _, r := range out.Records {
			ran = append(ran, r.Step.Name)
		}
		if err != nil || len(ran) == 0 || !slices.Equal(planned, ran) {
			t.Errorf("%s: planned %v, ran %v: %v", name, planned, ran, err)
		}
	}
}
