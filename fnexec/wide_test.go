package fnexec_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/fnexec"
)

// TestManyKeys checks the limit on keys, for one mapping and for all of an output.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	item := func(name string, keys int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: %s}\n  data:\n", name)
		for i := range keys {
			fmt.Fprintf(&b, "    k%d: v\n", i)
		}
		return b.String()
	}
	for _, c := range []struct{ name, items, want string }{
		{"as many as may be", item("a", 29_000), ""},
		{"too many in one", item("a", 30_001), "v1 ConfigMap a: data has 30001 keys: the limit for a mapping is 30000"},
		{"too many in several", item("a", 29_000) + item("b", 10) + item("c", 8_000), "v1 ConfigMap c: data has 8000 keys: with the other mappings of the output, that is too many to read"},
		{"as many in several as may be", item("a", 29_000) + item("b", 7_000), ""},
	} {
		_, err := fnexec.Call(t.Context(), writes(resourceList("items:\n"+c.items)), fnexec.Input{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestIgnoredFields checks that fields that look misspelt are reported, in results too.
func TestIgnoredFields(t *testing.T) {
	t.Parallel()
	result := "{mesage: a, severity: info, resourceRef: {nme: x}, field: {pth: p}, file: {indx: 1}, tags: {mesage: mine}, other: 1}"
	got, err := fnexec.Call(t.Context(), writes(resourceList("Items: []\nitems: []\nresults: ["+result+"]\n")), fnexec.Input{})
	want := []string{
		`the field "Items" of its ResourceList is unknown and ignored: did you mean items?`,
		`the field "mesage" of results[0] is unknown and ignored: did you mean message?`,
		`the field "nme" of results[0].resourceRef is unknown and ignored: did you mean name?`,
		`the field "pth" of results[0].field is unknown and ignored: did you mean path?`,
		`the field "indx" of results[0].file is unknown and ignored: did you mean index?`,
	}
	if err != nil || strings.Join(got.Strange, "\n") != strings.Join(want, "\n") {
		t.Errorf("%v: %q", err, got.Strange)
	}
	got, err = fnexec.Call(t.Context(), writes(resourceList("items: []\nresults:\n"+strings.Repeat("- "+result+"\n", 1000))), fnexec.Input{})
	if n := len(got.Strange); err != nil || n != 21 || got.Strange[20] != "and 3980 more fields that are unknown or were not taken as written" {
		t.Errorf("%v: %d, %q", err, n, got.Strange[n-1])
	}
}

// writes returns a Runner that writes a text.
func writes(text string) fnexec.Runner {
	return runnerFunc(func(_ context.Context, _ io.Reader, out, _ io.Writer) error {
		_, err := io.WriteString(out, text)
		return err
	})
}
