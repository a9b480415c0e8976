package registry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/registry"
)

// forms are the two kinds of content that can be written at the same time: a tag, and the index of
// a fallback tag.
func forms(d digest.Digest) map[string]func(data string) registry.Attachment {
	return map[string]func(string) registry.Attachment{
		"tag":      func(data string) registry.Attachment { return signatureOf(d, data, "s") },
		"referrer": bundleOf,
	}
}

// onPut applies m to requests that set a tag of signatures or a fallback tag.
func onPut(m func(tag string, next http.Handler) http.HandlerFunc) regtest.Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, tag, is := strings.Cut(r.URL.Path, "/manifests/sha256-")
			if !is || r.Method != http.MethodPut {
				next.ServeHTTP(w, r)
				return
			}
			m(tag, next).ServeHTTP(w, r)
		})
	}
}

// together delays the first two requests that set a tag until both have arrived, so that both
// clients have read before either writes. It responds when both have written.
func together() regtest.Middleware {
	type pair struct{ came, written sync.WaitGroup }
	var mu sync.Mutex
	count, pairs := map[string]int{}, map[string]*pair{}
	return onPut(func(tag string, next http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			if pairs[tag] == nil {
				pairs[tag] = &pair{}
				pairs[tag].came.Add(2)
				pairs[tag].written.Add(2)
			}
			p := pairs[tag]
			count[tag]++
			first := count[tag] <= 2
			mu.Unlock()
			if !first {
				next.ServeHTTP(w, r)
				return
			}
			p.came.Done()
			p.came.Wait()
			a := httptest.NewRecorder()
			next.ServeHTTP(a, r)
			p.written.Done()
			p.written.Wait()
			for k, v := range a.Header() {
				w.Header()[k] = v
			}
			w.WriteHeader(a.Code)
		}
	})
}

// TestAttachTogether checks that the client whose write was overwritten writes again.
func TestAttachTogether(t *testing.T) {
	t.Parallel()
	for where, f := range map[string]*regtest.Fake{
		"a real registry": regtest.ServeProxy(t, regtest.Start(t, regtest.Options{}), together()),
		"one in memory":   regtest.Serve(t, together()),
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			for i := range 20 {
				l := mustParse(t, fmt.Sprintf("oci://%s/r%d:v1", f.Host, i))
				b := bundles()["catalog"]
				b.Annotations = map[string]string{"round": fmt.Sprint(i)} // one subject for each round
				a, err := newClient(t, registry.Options{}).Push(t.Context(), l, b)
				if err != nil {
					t.Fatal(err)
				}
				for form, make := range forms(a.Root.Digest) {
					var both sync.WaitGroup
					for _, who := range []string{"one", "two"} {
						both.Go(func() { mustAttach(t, newClient(t, registry.Options{}), l, a.Root, make(form+" "+who)) })
					}
					both.Wait()
				}
				checkThere(t, a, "referrer one", "referrer two", "tag one", "tag two")
			}
		})
	}
}

// checkThere compares the attachments in any order.
func checkThere(t *testing.T, a registry.Artifact, want ...string) {
	t.Helper()
	got, err := a.Attachments(t.Context(), a.Root.Digest, signatures(a.Root.Digest))
	all := slices.Sorted(slices.Values(contents(got)))
	if err != nil || !slices.Equal(all, want) {
		t.Errorf("attached is %q, want %q: %v", all, want, err)
	}
}

// lose reverts the first n writes to a tag.
func lose(n int32) regtest.Middleware {
	var seen atomic.Int32
	return onPut(func(_ string, next http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if seen.Add(1) <= n {
				w.WriteHeader(http.StatusCreated)
				return
			}
			next.ServeHTTP(w, r)
		}
	})
}

// contended is a catalog in an in-memory registry, and a client.
func contended(t *testing.T, o registry.Options, how ...regtest.Middleware) (*regtest.Fake, *registry.Client, registry.Artifact) {
	t.Helper()
	f := regtest.Serve(t, how...)
	c := newClient(t, o)
	a, err := c.Push(t.Context(), mustParse(t, "oci://"+f.Host+"/team/catalog:v1"), bundles()["catalog"])
	if err != nil {
		t.Fatal(err)
	}
	return f, c, a
}

// puts counts requests that set a tag of signatures or a fallback tag.
func puts(f *regtest.Fake) int { return f.Count(http.MethodPut, "/manifests/sha256-") }

func TestAttachWrittenOver(t *testing.T) {
	t.Parallel()
	for form := range forms("") {
		for n := range int32(4) {
			t.Run(fmt.Sprintf("%s %d times", form, n), func(t *testing.T) {
				t.Parallel()
				f, c, a := contended(t, registry.Options{}, lose(n)) // which has two further tries
				_, err := c.Attach(t.Context(), a.From, a.Root, forms(a.Root.Digest)[form]("x"))
				if n <= 2 {
					if err != nil {
						t.Fatal(err)
					}
					checkThere(t, a, "x")
				}
				if want := int(min(n, 2)) + 1; puts(f) != want {
					t.Errorf("it was written %d times, want %d", puts(f), want)
				}
				tag := forms(a.Root.Digest)[form]("x").Tag
				if tag == "" {
					tag = "sha256-" + a.Root.Digest.Encoded()
				}
				var lost *registry.ConflictError
				switch {
				case n <= 2:
				case !errors.As(err, &lost), lost.Tag != tag, !strings.Contains(err.Error(), a.From.Name), !strings.Contains(err.Error(), tag):
					t.Errorf("always lost: %v", err)
				}
			})
		}
	}
}

// TestAttachNoFurtherTry checks that without retries the conflict is reported at once.
func TestAttachNoFurtherTry(t *testing.T) {
	t.Parallel()
	f, c, a := contended(t, registry.Options{Retry: registry.Retry{Max: -1}}, lose(9))
	_, err := c.Attach(t.Context(), a.From, a.Root, bundleOf("x"))
	if !isA[*registry.ConflictError](err) || puts(f) != 1 {
		t.Errorf("after %d writes: %v", puts(f), err)
	}
}

// afterGet calls do after each read of a tag, with the tag and the number of reads.
func afterGet(do func(tag string, n int32)) regtest.Middleware {
	var seen atomic.Int32
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a := httptest.NewRecorder()
			next.ServeHTTP(a, r)
			if _, tag, is := strings.Cut(r.URL.Path, "/manifests/sha256-"); is && r.Method == http.MethodGet {
				do("sha256-"+tag, seen.Add(1))
			}
			for k, v := range a.Header() {
				w.Header()[k] = v
			}
			w.WriteHeader(a.Code)
			_, _ = w.Write(a.Body.Bytes())
		})
	}
}

// TestAttachLooksTwice checks that a write that is lost after the first check is repeated, if an
// earlier one was lost.
func TestAttachLooksTwice(t *testing.T) {
	t.Parallel()
	none := toJSON(t, ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, Config: ocispec.DescriptorEmptyJSON, Layers: []ocispec.Descriptor{}})
	for form := range forms("") {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			var f *regtest.Fake
			taken := false
			f, c, a := contended(t, registry.Options{}, afterGet(func(tag string, _ int32) {
				switch {
				case taken || puts(f) != 2:
				case form == "tag":
					f.Manifest(ocispec.MediaTypeImageManifest, none, tag)
					taken = true
				default:
					f.Manifest(ocispec.MediaTypeImageIndex, index(t), tag)
					taken = true
				}
			}), lose(1))
			mustAttach(t, c, a.From, a.Root, forms(a.Root.Digest)[form]("x"))
			if checkThere(t, a, "x"); !taken || puts(f) != 3 {
				t.Errorf("taken away %t, written %d times, want 3", taken, puts(f))
			}
		})
	}
}

// TestAttachMoved checks that a tag that changed during the upload is joined again and not
// overwritten.
func TestAttachMoved(t *testing.T) {
	t.Parallel()
	var f *regtest.Fake
	f, c, a := contended(t, registry.Options{}, afterGet(func(tag string, n int32) {
		if n == 1 {
			f.Manifest(ocispec.MediaTypeImageManifest, attachment(t, f, "", "", "other"), tag)
		}
	}))
	mustAttach(t, c, a.From, a.Root, signatureOf(a.Root.Digest, "x", "s"))
	if checkThere(t, a, "other", "x"); puts(f) != 1 {
		t.Errorf("written %d times, want once", puts(f))
	}
}

// TestAttachUnseen checks that an attachment that cannot be verified is an error.
func TestAttachUnseen(t *testing.T) {
	t.Parallel()
	for form := range forms("") {
		var f *regtest.Fake
		blind := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/manifests/sha256-") && puts(f) > 0 {
					w.WriteHeader(http.StatusForbidden)
					return
				}
				next.ServeHTTP(w, r)
			})
		}
		f, c, a := contended(t, registry.Options{}, blind)
		if _, err := c.Attach(t.Context(), a.From, a.Root, forms(a.Root.Digest)[form]("x")); !isA[*registry.UnreachableError](err) || puts(f) != 1 {
			t.Errorf("%s, written %d times: %v", form, puts(f), err)
		}
	}
}

// TestAttachRequests checks the requests without other writers: the tag is read two more times than
// necessary, the index once, each is written once, and a list that the registry maintains is not
// checked.
func TestAttachRequests(t *testing.T) {
	t.Parallel()
	for form, reads := range map[string]int{"tag": 3, "referrer": 3} { // oras-go reads the index too
		f, c, a := contended(t, registry.Options{})
		mustAttach(t, c, a.From, a.Root, forms(a.Root.Digest)[form]("x"))
		if n := f.Count(http.MethodGet, "/manifests/sha256-"); n != reads || puts(f) != 1 {
			t.Errorf("%s: read %d times, want %d, written %d times", form, n, reads, puts(f))
		}
	}
	f, c, a := contended(t, registry.Options{}, regtest.Referrers())
	mustAttach(t, c, a.From, a.Root, bundleOf("x"))
	if n := f.Count(http.MethodGet, "/referrers/"); n != 1 || f.Count("", "/manifests/sha256-") != 0 {
		t.Errorf("with the API: asked %d times, want once", n)
	}
}

// TestAttachLateAPI checks registries that report the referrers API only once there is a referrer:
// the first check detects it.
func TestAttachLateAPI(t *testing.T) {
	t.Parallel()
	f, c, a := contended(t, registry.Options{Retry: registry.Retry{Max: -1}}, regtest.On("/referrers/", regtest.First(1, regtest.Fail(404, ""))), regtest.Referrers())
	mustAttach(t, c, a.From, a.Root, bundleOf("x"))
	if checkThere(t, a, "x"); puts(f) != 0 {
		t.Errorf("a fallback tag was written %d times", puts(f))
	}
}

// TestAttachCancelled also cancels between two attempts.
func TestAttachCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var f *regtest.Fake
	o := registry.Options{Retry: registry.Retry{Max: 3, MinWait: time.Hour, MaxWait: time.Hour}}
	f, c, a := contended(t, o, afterGet(func(string, int32) {
		if puts(f) > 0 {
			cancel()
		}
	}), lose(9))
	if _, err := c.Attach(ctx, a.From, a.Root, signatureOf(a.Root.Digest, "x", "s")); !errors.Is(err, context.Canceled) || puts(f) != 1 {
		t.Errorf("after %d writes: %v", puts(f), err)
	}
}
