package registry_test

import (
	"net/http"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/registry"
)

// TestListRelations checks that a list of referrers only continues at the link with the relation
// next.
func TestListRelations(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]int{
		`</more>; rel="next"`: 1,
		`</docs>; rel=help, </more>; title="a, b"; rel="last next"`: 1,
		`</more>; rel="prev"`:                    0,
		`</more>; rel=describedby`:               0,
		`</more>; title="rel=next"; rel="first"`: 0,
		`</more>`:                                -1,
		`>; rel=next`:                            -1,
	} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			var bundle []byte
			more := func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					regtest.AnswerReferrers(w, []ocispec.Descriptor{listed(bundle, bundleType)})
				})
			}
			first := list(func(w http.ResponseWriter, _ *http.Request, _ int) []ocispec.Descriptor {
				w.Header().Set("Link", header)
				return nil
			})
			f, a := serveSigned(t, regtest.On("/more", more), first)
			bundle = attachment(t, f, bundleType, a.Root.Digest, "listed on the second page")
			f.Manifest(ocispec.MediaTypeImageManifest, bundle)
			q := signatures(a.Root.Digest)
			q.Tags = nil
			got, err := a.Attachments(t.Context(), a.Root.Digest, q)
			if len(got) != max(want, 0) || isA[*registry.UnreachableError](err) != (want < 0) || f.Count(http.MethodGet, "/more") != max(want, 0) {
				t.Errorf("found %q, %v after %d requests", contents(got), err, f.Count(http.MethodGet, "/more"))
			}
		})
	}
}
