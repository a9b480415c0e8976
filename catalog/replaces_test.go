package catalog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/internal/failure"
)

// replacing has functions that replace images.
const replacing = head + `kind: Catalog
spec:
  krmFunctions:
  - name: set-namespace
    group: ""
    kind: ConfigMap
    versions: [name: v1]
    replaces:
    - {image: gcr.io/kpt-fn/set-namespace, versions: '>=0.2.0 <0.5.0', tags: [v0.4, unstable]}
    - {image: ghcr.io/kptdev/krm-functions-catalog/set-namespace, versions: ~0.4}
  - group: fn.kpt.dev
    kind: SetNamespace
    replaces: [{image: gcr.io/kpt-fn/set-namespace, versions: ^0.4.1, tags: [latest]}]
    versions:
    - name: v1alpha1
    - {name: v1, replaces: [{image: gcr.io/kpt-fn/set-namespace, versions: 1.x}]}
    - {name: v2, replaces: []}
  - {name: hub, group: g, kind: Hub, versions: [name: v1], replaces: [{image: set-labels, versions: '*', tags: [latest]}]}
`

// TestResolveImage has a row for each way of writing an image and its version.
func TestResolveImage(t *testing.T) {
	t.Parallel()
	c, err := catalog.Decode("c", []byte(replacing))
	if err != nil {
		t.Fatal(err)
	}
	const digest = "@sha256:54e4b876fb93f50b6be5bd342b80495fe32c81348e14802cbde5096bdb097e21"
	own := catalog.IDOf("fn.kpt.dev/v1alpha1", "SetNamespace")
	for _, tt := range []struct {
		image  string
		config catalog.FunctionID
		want   string // NAME TYPE, or "" for none
	}{
		{"gcr.io/kpt-fn/set-namespace:v0.4.1", catalog.IDOf("v1", "ConfigMap"), "set-namespace v1/ConfigMap"},
		{"gcr.io/kpt-fn/set-namespace:0.4.1", catalog.IDOf("v1", "ConfigMap"), "set-namespace v1/ConfigMap"},
		{"gcr.io:443/kpt-fn/set-namespace:v0.4.1", catalog.IDOf("v1", "ConfigMap"), "set-namespace v1/ConfigMap"},
		{"GCR.io/kpt-fn/set-namespace:v0.4.1", catalog.IDOf("v1", "ConfigMap"), "set-namespace v1/ConfigMap"},
		// The function for the type of the functionConfig is preferred to the first.
		{"gcr.io/kpt-fn/set-namespace:v0.4.1", own, "set-namespace fn.kpt.dev/v1alpha1/SetNamespace"},
		{"gcr.io/kpt-fn/set-namespace:v0.4.0", own, "set-namespace v1/ConfigMap"},
		{"gcr.io/kpt-fn/set-namespace:v1.2.3", own, "set-namespace fn.kpt.dev/v1/SetNamespace"},
		{"gcr.io/kpt-fn/set-namespace:v0.4.1", catalog.IDOf("fn.kpt.dev/v2", "SetNamespace"), "set-namespace v1/ConfigMap"},
		{"gcr.io/kpt-fn/set-namespace:v0.1.9", own, ""},
		{"gcr.io/kpt-fn/set-namespace:v0.4.1-rc.1", catalog.IDOf("v1", "ConfigMap"), ""},
		// A tag that may move is no version: only a listed one is replaced.
		{"gcr.io/kpt-fn/set-namespace:v0.4", own, "set-namespace v1/ConfigMap"},
		{"gcr.io/kpt-fn/set-namespace:v0.3", own, ""},
		{"gcr.io/kpt-fn/set-namespace:unstable", own, "set-namespace v1/ConfigMap"},
		{"gcr.io/kpt-fn/set-namespace:stable", own, ""},
		{"gcr.io/kpt-fn/set-namespace", own, "set-namespace fn.kpt.dev/v1alpha1/SetNamespace"}, // latest
		{"ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.9", own, "set-namespace v1/ConfigMap"},
		{"ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.5.0", own, ""},
		{"ghcr.io/kptdev/krm-functions-catalog/set-namespace", own, ""},
		// An image that is pinned by its digest is never replaced.
		{"gcr.io/kpt-fn/set-namespace:v0.4.1" + digest, own, ""},
		{"gcr.io/kpt-fn/set-namespace" + digest, own, ""},
		{"set-labels", own, "hub g/v1/Hub"},
		{"library/set-labels:1.0.0", own, "hub g/v1/Hub"},
		{"index.docker.io/library/set-labels:1.0.0", own, "hub g/v1/Hub"},
		{"mine/set-labels:1.0.0", own, ""},
		{"example.com/kpt-fn/set-namespace:v0.4.1", own, ""},
		{"gcr.io/kpt-fn/set-namespaces:v0.4.1", own, ""},
	} {
		q := catalog.Query{Config: tt.config, Image: tt.image, Named: "hub"} // the image decides
		f, err := c.Resolve(t.Context(), q)
		got := f.Called() + " " + f.ID.String()
		if err != nil {
			got = ""
		}
		if got != tt.want || err != nil && !errors.As(err, new(*catalog.NotFoundError)) {
			t.Errorf("%s beside %s: got %q, want %q, %v", tt.image, tt.config, got, tt.want, err)
		}
	}
	_, err = c.Resolve(t.Context(), catalog.Query{Image: "gcr.io/kpt-fn/set-namespac:v0.4.1"})
	if err == nil || err.Error() != "no catalog has a function that replaces the image gcr.io/kpt-fn/set-namespac:v0.4.1, searched c" || failure.Of(err) != failure.NotFound {
		t.Error(err)
	}
	if _, err := c.Resolve(t.Context(), catalog.Query{Image: "A B"}); err == nil || errors.As(err, new(*catalog.NotFoundError)) {
		t.Errorf("a text that is no image: %v", err)
	}
}

// TestReplacesBad has a row for each mistake in a list of images.
func TestReplacesBad(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"x":                              "must be a list, not a string",
		"[x]":                            "must be a mapping, not a string",
		"[~]":                            "must be a mapping, not null",
		"[{}]":                           ".image: missing",
		"[{image: a/b}]":                 "it has neither versions nor tags: which versions of the image are replaced?",
		"[{image: a/b, tags: []}]":       "it has neither versions nor tags",
		"[{image: 'a/b:v1', tags: [x]}]": "the name of an image without a tag is expected",
		"[{image: 'a/b@sha256:54e4b876fb93f50b6be5bd342b80495fe32c81348e14802cbde5096bdb097e21', tags: [x]}]": "an image that is pinned by its digest is never replaced",
		"[{image: 'A b', tags: [x]}]":                                       "it is not the name of a container image",
		"[{image: 'oci://a/b', tags: [x]}]":                                 "the name of a container image is written without oci://",
		"[{image: a/b, version: '1.x'}]":                                    `unknown field "version", did you mean "versions"?`,
		"[{image: a/b, versions: newest}]":                                  `"newest" is not a range of versions`,
		"[{image: a/b, versions: ''}]":                                      ".versions: missing",
		"[{image: a/b, versions: 1.2}]":                                     "must be a string, not a number, quote it",
		"[{image: a/b, versions: '1" + strings.Repeat(" || 1", 100) + "'}]": "is not a range of versions",
		"[{image: a/b, tags: [1]}]":                                         "must be a string, not a number, quote it",
		"[{image: a/b, tags: ['']}]":                                        ".tags[0]: missing",
		"[{image: a/b, tags: ['x@sha256:1']}]":                              "is not a tag of an image",
		"[{image: a/b, tags: ['a b']}]":                                     `"a b" is not a tag of an image`,
		"[{image: a/b, tags: ['c/d:e']}]":                                   `"c/d:e" is not a tag of an image`,
		"[{image: a/b, tags: x}]":                                           "must be a list, not a string",
	} {
		for _, place := range []string{
			"group: g\nkind: K\nversions: [{name: v1, runtime: {}}]\nreplaces: %s",
			"group: g\nkind: K\nversions:\n- name: v1\n  replaces: %s",
		} {
			_, err := catalog.Decode("c", []byte(list(fmt.Sprintf(place, in))))
			if err == nil || !strings.Contains(err.Error(), "replaces") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", in, err)
			}
		}
	}
}

func TestReplacedString(t *testing.T) {
	t.Parallel()
	c, err := catalog.Decode("c", []byte(replacing))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range c.Functions {
		for _, r := range f.Replaces {
			got = append(got, fmt.Sprintf("%d %s", r.Line, r))
		}
	}
	want := []string{
		"10 gcr.io/kpt-fn/set-namespace (>=0.2.0 <0.5.0; v0.4; unstable)",
		"11 ghcr.io/kptdev/krm-functions-catalog/set-namespace (~0.4)",
		"14 gcr.io/kpt-fn/set-namespace (^0.4.1; latest)",
		"17 gcr.io/kpt-fn/set-namespace (1.x)",
		"19 set-labels (*; latest)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
