package starlark

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// TestWhatIsNotAmbiguousIsAString checks that the parser takes a text for a string that is not
// parsed.
func TestWhatIsNotAmbiguousIsAString(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "y", "Y", "n", "no", "No", "on", "off", "Off", "true", "True", "TRUE", "false", "False", "null", "Null", "yes",
		"falsey", "false ", "nulls", "trueish", "fn-1", "fn-199", "node-1", "nodes", "f0", "true: a", "nodes: a", "node-1:",
		"node-1: ", "node:1", "t.f", "no no no", "offline", "one=two", "n<<<<<<<", "ninety+9", "f........", "one-2001-01-01",
		"o_1_2_3_4", "y~~~~~~", "Nan.nan", "finite.inf", "Infinity", "trailing - dash", "n ", "of course",
	} {
		if !ambiguous(s) && yaml.IsValueNonString(s) {
			t.Errorf("%q is taken for a string, and is none", s)
		}
	}
	if ambiguous("fn-199") {
		t.Error("a name that begins like a word with a meaning is looked at twice")
	}
}
