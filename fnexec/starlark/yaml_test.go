package starlark

import (
	"testing"

	"go.starlark.net/starlark"
	yamlv2 "go.yaml.in/yaml/v2"
)

// FuzzYAML checks that yaml.loads gives what the library reads, whatever the order of the keys,
// and that what yaml.dumps prints is read again as it was.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{"a: [1, yes]\nb: {c: d}\n", "- &a {x: 1}\n- <<: *a\n  y: 2\n", "1: a\n~: b\n", "a: 1\na: 2\n", "[[[{a: {b: [c]}}]]]", "!!set {a}", "? a\n: b", "a: |\n  x\n y: z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 10_000 {
			return
		}
		thread, m := &starlark.Thread{}, yamlModule().Members
		v, err := starlark.Call(thread, m["loads"], starlark.Tuple{starlark.String(source)}, nil)
		var want any
		if wantErr := yamlv2.Unmarshal([]byte(source), &want); wantErr != nil && err == nil {
			t.Fatalf("%q is read as %v, and the library fails: %v", source, v, wantErr)
		}
		if err != nil {
			return
		}
		text, err := starlark.Call(thread, m["dumps"], starlark.Tuple{v}, nil)
		if err != nil {
			return // a large number, or a text with many spaces
		}
		again, err := starlark.Call(thread, m["loads"], starlark.Tuple{text}, nil)
		if err != nil {
			t.Fatalf("%q is printed as %v, which is not read: %v", source, text, err)
		}
		printed, err := starlark.Call(thread, m["dumps"], starlark.Tuple{again}, nil)
		if err != nil || printed != text {
			t.Errorf("%q is printed as %v, and then as %v, %v", source, text, printed, err)
		}
	})
}
