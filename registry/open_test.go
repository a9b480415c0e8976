package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
)

// layerData is larger than the result of one Read.
func layerData() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 3<<20)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// image pushes an image with one layer to a registry, and resolves it.
func image(t *testing.T, f *regtest.Fake, c *registry.Client, size int64) registry.Artifact {
	t.Helper()
	config, layer := []byte(`{"os":"linux"}`), layerData()
	if size == 0 {
		size = int64(len(layer))
	}
	m := ocispec.Manifest{
		MediaType: ocispec.MediaTypeImageManifest,
		Config:    ocispec.Descriptor{MediaType: ocispec.MediaTypeImageConfig, Digest: f.Blob(config), Size: int64(len(config))},
		Layers:    []ocispec.Descriptor{{MediaType: ocispec.MediaTypeImageLayerGzip, Digest: f.Blob(layer), Size: size}},
	}
	m.SchemaVersion = 2
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	f.Manifest(m.MediaType, data, "v1")
	a, err := c.Resolve(t.Context(), mustParse(t, "oci://"+f.Host+"/image:v1"), registry.Want{Role: mediatypes.RoleContainer})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func streamAll(t *testing.T, a registry.Artifact, d ocispec.Descriptor) ([]byte, error) {
	t.Helper()
	rc, err := a.Open(t.Context(), d)
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	return io.ReadAll(rc)
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		how  []regtest.Middleware
		size int64
		want func(error) bool // nil: it is read
	}{
		"as it should be":  {},
		"broken off once":  {how: []regtest.Middleware{regtest.On("/blobs/", regtest.First(1, regtest.Truncate()))}},
		"failing once":     {how: []regtest.Middleware{regtest.On("/blobs/", regtest.First(1, regtest.Fail(503, "")))}},
		"broken off":       {how: []regtest.Middleware{regtest.On("/blobs/", regtest.Truncate())}, want: isA[*registry.DigestError]},
		"shortened":        {how: []regtest.Middleware{regtest.On("/blobs/", regtest.Shorten())}, want: isA[*registry.DigestError]},
		"tampered with":    {how: []regtest.Middleware{regtest.On("/blobs/", regtest.Tamper())}, want: isA[*registry.DigestError]},
		"larger than said": {size: 1 << 20, want: isA[*registry.DigestError]},
		"missing":          {how: []regtest.Middleware{regtest.On("/blobs/", regtest.Fail(404, ""))}, want: isA[*registry.NotFoundError]},
		"forbidden":        {how: []regtest.Middleware{regtest.On("/blobs/", regtest.Fail(403, ""))}, want: isA[*registry.UnreachableError]},
		"too large":        {size: 1 << 40, want: isA[*registry.TooLargeError]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := image(t, regtest.Serve(t, tc.how...), newClient(t, registry.Options{}), tc.size)
			data, err := streamAll(t, a, a.Files[0])
			switch {
			case tc.want == nil && (err != nil || !bytes.Equal(data, layerData())):
				t.Errorf("%d bytes, %v", len(data), err)
			case tc.want != nil && !tc.want(err):
				t.Errorf("%d bytes, %T %v", len(data), err, err)
			}
		})
	}
}

// TestOpenTakesUp checks that a resumed read only requests the rest if the registry supports
// ranges.
func TestOpenTakesUp(t *testing.T) {
	t.Parallel()
	ranges := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Accept-Ranges", "bytes")
			if r.Header.Get("Range") == "" {
				next.ServeHTTP(w, r)
				return
			}
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(layerData()))
		})
	}
	broken := func(next http.Handler) http.Handler { return ranges(regtest.Truncate()(next)) }
	f := regtest.Serve(t, regtest.On("/blobs/", broken))
	a := image(t, f, newClient(t, registry.Options{}), 0)
	if data, err := streamAll(t, a, a.Files[0]); err != nil || !bytes.Equal(data, layerData()) {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	requests := f.Requests()
	if last := requests[len(requests)-1]; last.Header.Get("Range") == "" {
		t.Errorf("the last of %d requests was for the whole layer", len(requests))
	}
}

func TestOpenFromCache(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	f := regtest.Serve(t)
	a := image(t, f, newClient(t, registry.Options{CacheDir: cache}), 0)
	if _, err := streamAll(t, a, a.Files[0]); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "blobs", "sha256", a.Files[0].Digest.Encoded())
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a streamed layer was kept: %v", err)
	}
	if _, err := a.ReadFile(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	before := f.Count(http.MethodGet, "/blobs/")
	if data, err := streamAll(t, a, a.Files[0]); err != nil || !bytes.Equal(data, layerData()) || f.Count(http.MethodGet, "/blobs/") != before {
		t.Errorf("%d bytes, %v, or the registry was asked again", len(data), err)
	}
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := streamAll(t, a, a.Files[0]); err != nil || !bytes.Equal(data, layerData()) {
		t.Errorf("with a damaged cache: %d bytes, %v", len(data), err)
	}
}

func TestOpenConfigAndStrangers(t *testing.T) {
	t.Parallel()
	a := image(t, regtest.Serve(t), newClient(t, registry.Options{}), 0)
	if data, err := streamAll(t, a, a.Config); err != nil || string(data) != `{"os":"linux"}` {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := a.Read(t.Context(), a.Config); err != nil || string(data) != `{"os":"linux"}` {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := a.Open(t.Context(), ocispec.Descriptor{Digest: digest.FromString("x")}); err == nil {
		t.Error("a stranger's blob was opened")
	}
	if _, err := (registry.Artifact{}).Open(t.Context(), ocispec.Descriptor{}); err == nil {
		t.Error("the zero Artifact has content")
	}
	ctx, cancel := context.WithCancel(t.Context())
	rc, err := a.Open(ctx, a.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	cancel()
	if _, err := io.ReadAll(rc); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestOpenElsewhere checks layouts and artifacts that were just pushed.
func TestOpenElsewhere(t *testing.T) {
	t.Parallel()
	c := newClient(t, registry.Options{})
	l := mustParse(t, "oci-layout://"+t.TempDir()+"/layout:v1")
	pushed, err := c.Push(t.Context(), l, bundles()["script"])
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := c.Resolve(t.Context(), l, registry.Want{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []registry.Artifact{pushed, resolved, registry.Literal(l, mediatypes.RoleStarlark, "", bundles()["script"].Files[0].Data)} {
		if data, err := streamAll(t, a, a.Files[0]); err != nil || !bytes.Equal(data, bundles()["script"].Files[0].Data) {
			t.Errorf("%q, %v", data, err)
		}
	}
}
