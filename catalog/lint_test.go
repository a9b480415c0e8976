package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/catalog"
)

const complete = `
group: g
names: {kind: K}
description: d
publisher: p
versions:
- name: v1
  schema: {openAPIV3Schema: {}}
  idempotent: true
  usage: u
  examples: [e]
  license: Apache 2.0
  runtime: {exec: {platforms: [{bin: b, os: linux, arch: amd64, uri: u, sha256: s}]}}
`

// named returns a catalog of one function that has a name.
func named(name, function string) string { return list(withName(name, function)) }

// withName returns a function with a name.
func withName(name, function string) string {
	return "name: " + name + "\n" + strings.TrimSpace(function)
}

// entry returns a further function of a catalog.
func entry(function string) string {
	_, text, _ := strings.Cut(list(function), "krmFunctions:\n")
	return text
}

func lint(in string) []string {
	var out []string
	for _, f := range catalog.Lint("c.yaml", []byte(in)) {
		out = append(out, fmt.Sprintf("%d %s %s: %s", f.Line, f.Severity, f.Field, f.Message))
	}
	return out
}

func TestLint(t *testing.T) {
	t.Parallel()
	exec := func(with string) string {
		before, _, _ := strings.Cut(complete, "  runtime:")
		return list(before + "  runtime: " + with)
	}
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"no findings", list(complete), nil},
		{"the core group", list(strings.Replace(complete, "group: g", "group: ''", 1)), nil},
		{"two names for one type", named("a", complete) + entry(withName("b", complete)), nil},
		{"one name for two types", named("a", complete) + entry(withName("a", strings.Replace(complete, "kind: K", "kind: L", 1))), []string{
			"18 error name: the name a is already in line 5: it has to tell functions apart",
		}},
		{"an image that is replaced twice", list(complete + "replaces: [{image: a/b, versions: ^1, tags: [x, x]}, {image: docker.io/a/b, versions: ^1}]"), []string{
			"17 warning replaces: a/b x is already replaced in line 17, which wins",
			"17 warning replaces: docker.io/a/b ^1 is already replaced in line 17, which wins",
		}},
		{"one image for two types", list(complete+"replaces: [{image: a/b, versions: ^1}]") +
			entry(strings.Replace(complete, "kind: K", "kind: L", 1)+"replaces: [{image: a/b, versions: ^1}]"), nil},
		{"SPDX expression", list(strings.Replace(complete, "Apache 2.0", "MIT OR Apache-2.0", 1)), nil},
		{"own license", list(strings.Replace(complete, "Apache 2.0", "mine", 1)), []string{
			`10 warning license: "mine" is not a common SPDX license id`,
		}},
		{"the smallest catalog that loads", list("group: g\nkind: K\nversions:\n- name: v1\n- name: v1"), []string{
			"5 warning description: description is missing",
			"5 warning publisher: publisher is missing",
			"8 warning schema: schema is missing",
			"8 warning idempotent: idempotent is missing",
			"8 warning usage: usage is missing",
			"8 warning examples: examples is missing",
			"8 warning license: license is missing",
			"8 error runtime: runtime is missing: the function cannot be run",
			"9 warning schema: schema is missing",
			"9 warning idempotent: idempotent is missing",
			"9 warning usage: usage is missing",
			"9 warning examples: examples is missing",
			"9 warning license: license is missing",
			"9 error runtime: runtime is missing: the function cannot be run",
			"9 warning name: g/v1/K is already in line 8, which wins",
		}},
		{"a catalog that does not load", list(complete + "color: red"), []string{
			`17 error : spec.krmFunctions[0]: unknown field "color", known are name, group, names, kind, description, publisher, versions, runtime, replaces, home, maintainers, tags`,
		}},
		{"exec", exec("{exec: {platforms: [{os: plan9}, {bin: b, os: linux, arch: arm, uri: 'oci://x@sha256:1'}, text]}}"), []string{
			"16 error sha256: an exec function needs its sha256",
			"16 warning bin: bin is missing",
			"16 warning uri: uri is missing",
			`16 warning os: os is "plan9", KEP-2906 has linux, darwin, windows`,
			"16 warning arch: arch is missing",
			`16 warning arch: arch is "arm", KEP-2906 has amd64, arm64`,
			"16 error exec: a platform must be a mapping, not a string",
		}},
		{"exec without platforms", exec("{exec: {}}"), []string{"16 error exec: exec has no platforms"}},
		{"exec as a pinned reference", exec("{exec: 'oci://x/y:v1@sha256:00'}"), nil},
		{"exec as a reference in a field", exec("{exec: {uri: 'oci://x/y:v1', sha256: '00'}}"), nil},
		{"exec as a tag", exec("{exec: {uri: 'oci://x/y:v1'}}"), []string{"16 error sha256: exec needs a sha256, or a reference with a digest"}},
		{"exec as a list", exec("{exec: [{path: p}, {path: p, sha256: s}]}"), []string{
			"16 error sha256: an exec function needs its sha256",
		}},
		{"container with a version", exec("{container: {image: 'docker.example.co/f:v1.2.3-rc.1'}}"), []string{
			"16 warning sha256: an image with a version needs its sha256",
		}},
		{"container with a digest", exec("{container: {image: 'f:v1.2.3@sha256:00'}}"), nil},
		{"container with sha256", exec("{container: {image: 'f:1.2.3', sha256: s}}"), nil},
		{"container of a moving tag", exec("{container: {image: 'f:latest'}}"), nil},
		{"container without an image", exec("{container: x}"), []string{"16 error image: container has no image"}},
		{"a runtime of another program", exec("{wasm: x}"), nil},
		{"a misspelt runtime", exec("{starlrk: x}"), []string{
			`16 warning runtime: the runtime "starlrk" is unknown, did you mean "starlark"?`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, lint(tt.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
