package render_test

import (
	"fmt"
	"strings"
	"testing"
)

const composition = "-- composition.yaml --\nkind: Composition\n"

// endless are Compositions that ask for themselves, or for much.
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
		{"Compositions in lists, doubled", layer + "transformers: [c0]\n" + cm + doubled(40), "again and again"},
	}
}

// doubled is a row of Compositions, each of which lists the next one twice.
func doubled(levels int) string {
	s := ""
	for i := range levels {
		s += fmt.Sprintf("-- c%d/composition.yaml --\nkind: Composition\ntransformers: [{kind: Kustomization, metadata: {name: k}, transformers: [../c%d, ../c%d/.]}]\n", i, i+1, i+1)
	}
	return s + fmt.Sprintf("-- c%d/composition.yaml --\nkind: Composition\ntransformers: [{kind: PrefixTransformer, prefix: x-}]\n", levels)
}

// TestCompositionAttacks does not run in parallel: it owns PATH.
func TestCompositionAttacks(t *testing.T) { //nolint:paralleltest // see above
	check := tripwires(t)
	for _, a := range endless() {
		t.Run(a.name, func(t *testing.T) {
			o := optionsFor(t, unpack(t, a.files))
			o.Target.Helm.Enabled = !strings.HasPrefix(a.name, "helm") // else PATH holds no tripwire
			_, err := newRenderer(t).Render(t.Context(), o)
			check(t)
			switch {
			case a.want == "" && err != nil:
				t.Fatal(err)
			case a.want != "" && (err == nil || !strings.Contains(err.Error(), a.want)):
				t.Fatalf("want an error with %q, got %v", a.want, err)
			}
			for _, inner := range []string{".krmcat-", "krmcat.dev/v1alpha1", "/krmcat-"} {
				if err != nil && a.want != "names that begin with .krmcat-" && strings.Contains(err.Error(), inner) {
					t.Errorf("the error shows what exists only inside: %v", err)
				}
			}
		})
	}
}
