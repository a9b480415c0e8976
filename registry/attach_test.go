package registry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

func getJSON(t testing.TB, url, accept string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v", url, resp.StatusCode, err)
	}
}

func TestAttachRefuses(t *testing.T) {
	t.Parallel()
	_, pushed := pushedLayout(t)
	l, c := pushed.From, newClient(t, registry.Options{})
	file := func(size int) registry.AttachedFile { return attached(sigType, strings.Repeat("x", size), nil) }
	with := func(change func(*registry.Attachment)) registry.Attachment {
		a := bundleOf("x")
		change(&a)
		return a
	}
	anything := func(err error) bool { return err != nil }
	for name, tt := range map[string]struct {
		at      string
		subject ocispec.Descriptor
		a       registry.Attachment
		want    func(error) bool
	}{
		"at a file":        {"./x", pushed.Root, bundleOf("x"), isA[*reference.Error]},
		"at https":         {"https://h.example/x", pushed.Root, bundleOf("x"), isA[*reference.Error]},
		"at no layout":     {"oci-layout://" + t.TempDir() + "/none:v1", pushed.Root, bundleOf("x"), isA[*registry.NotFoundError]},
		"to what is not":   {"", ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: someDigest, Size: 1}, bundleOf("x"), isA[*registry.NotFoundError]},
		"to no digest":     {"", ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: "sha256:../x", Size: 1}, bundleOf("x"), anything},
		"to a mere digest": {"", ocispec.Descriptor{Digest: pushed.Root.Digest}, bundleOf("x"), anything},
		"no files":         {"", pushed.Root, with(func(a *registry.Attachment) { a.Files = nil }), anything},
		"no type":          {"", pushed.Root, with(func(a *registry.Attachment) { a.ArtifactType = "" }), anything},
		"not a tag":        {"", pushed.Root, with(func(a *registry.Attachment) { a.Tag = "../x" }), isA[*reference.Error]},
		"a large file":     {"", pushed.Root, with(func(a *registry.Attachment) { a.Files[0] = file(1<<20 + 1) }), isA[*registry.TooLargeError]},
		"much in all": {"", pushed.Root, with(func(a *registry.Attachment) {
			a.Files = slices.Repeat([]registry.AttachedFile{file(1 << 20)}, 9)
		}), isA[*registry.TooLargeError]},
		"many files": {"", pushed.Root, with(func(a *registry.Attachment) {
			a.Files = slices.Repeat([]registry.AttachedFile{file(1)}, 1001)
		}), isA[*registry.TooManyError]},
		"a large manifest": {"", pushed.Root, with(func(a *registry.Attachment) {
			a.Annotations["large"] = strings.Repeat("x", 4<<20)
		}), isA[*registry.TooLargeError]},
	} {
		at := l
		if tt.at != "" {
			at = mustParse(t, tt.at)
		}
		if d, err := c.Attach(t.Context(), at, tt.subject, tt.a); err == nil || !tt.want(err) {
			t.Errorf("%s: %v, %v (%T)", name, d, err, err)
		}
	}
	if got, err := pushed.Attachments(t.Context(), pushed.Root.Digest, signatures(pushed.Root.Digest)); err != nil || got != nil {
		t.Errorf("afterwards there is %+v, %v", got, err)
	}
}

// TestAttachNoFlood checks that Attach refuses what Attachments would refuse.
func TestAttachNoFlood(t *testing.T) {
	t.Parallel()
	_, pushed := pushedLayout(t)
	c := newClient(t, registry.Options{})
	for i := range 64 {
		mustAttach(t, c, pushed.From, pushed.Root, bundleOf(fmt.Sprint(i)))
	}
	if _, err := c.Attach(t.Context(), pushed.From, pushed.Root, bundleOf("65th")); !isA[*registry.TooManyError](err) {
		t.Errorf("the 65th: %v", err)
	}
	mustAttach(t, c, pushed.From, pushed.Root, bundleOf("0")) // it is there already
	got, err := pushed.Attachments(t.Context(), pushed.Root.Digest, signatures(pushed.Root.Digest))
	if err != nil || len(got) != 64 {
		t.Errorf("%d, %v", len(got), err)
	}
}

func TestAttachUnreachable(t *testing.T) {
	t.Parallel()
	subject := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: someDigest, Size: 1}
	reg := regtest.Start(t, regtest.Options{Logins: true})
	c := newClient(t, registry.Options{})
	for name, a := range map[string]registry.Attachment{"referrer": bundleOf("x"), "tag": signatureOf(someDigest, "x", "y")} {
		var e *registry.UnreachableError
		if _, err := c.Attach(t.Context(), mustParse(t, "oci://"+reg.Host+"/x"), subject, a); !errors.As(err, &e) || e.Status != http.StatusUnauthorized {
			t.Errorf("%s without a login: %v", name, err)
		}
	}
	// A response without information about the tag must not lead to overwriting it.
	plain := regtest.Start(t, regtest.Options{})
	proxy := regtest.ServeProxy(t, plain, regtest.On(".sig", getFails))
	if _, err := c.Attach(t.Context(), mustParse(t, "oci://"+proxy.Host+"/x"), subject, signatureOf(someDigest, "x", "y")); !isA[*registry.UnreachableError](err) {
		t.Errorf("500 at the tag: %v", err)
	}
	if n := proxy.Count(http.MethodPut, ""); n != 0 {
		t.Errorf("%d things were put there", n)
	}
}

func getFails(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// TestSignedLayout checks that a layout of one artifact is still read without a tag after something
// was attached.
func TestSignedLayout(t *testing.T) {
	t.Parallel()
	dir, pushed := pushedLayout(t)
	c := newClient(t, registry.Options{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			mustAttach(t, c, pushed.From, pushed.Root, bundleOf(fmt.Sprint(i)))
			mustAttach(t, c, pushed.From, pushed.Root, signatureOf(pushed.Root.Digest, "payload", fmt.Sprint(i)))
		})
	}
	all.Wait()
	a, err := c.Resolve(t.Context(), mustParse(t, "oci-layout://"+dir), registry.Want{})
	if err != nil || a.Root.Digest != pushed.Root.Digest {
		t.Fatalf("without a tag: %v, %v", a.Root, err)
	}
	got, err := a.Attachments(t.Context(), a.Root.Digest, signatures(a.Root.Digest))
	if err != nil || len(got) != 9 || len(got[0].Files) != 8 {
		t.Errorf("%d found: %v", len(got), err)
	}
	if _, err := c.Push(t.Context(), mustParse(t, "oci-layout://"+dir+":v2"), bundles()["definition"]); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resolve(t.Context(), mustParse(t, "oci-layout://"+dir), registry.Want{}); !isA[*registry.NotFoundError](err) {
		t.Errorf("without a tag, of two: %v", err)
	}
}

// TestLayoutReferrers checks the ways in which a layout can list referrers.
func TestLayoutReferrers(t *testing.T) {
	t.Parallel()
	q := func(d digest.Digest) registry.Query { return registry.Query{ArtifactTypes: []string{bundleType}} }
	for name, tt := range map[string]struct {
		edit func(t *testing.T, dir string, index *ocispec.Index, referrer int)
		want func(error) bool
		n    int
	}{
		"as written":        {func(*testing.T, string, *ocispec.Index, int) {}, nil, 1},
		"type not said":     {func(_ *testing.T, _ string, x *ocispec.Index, i int) { x.Manifests[i].ArtifactType = "" }, nil, 1},
		"said to be others": {func(_ *testing.T, _ string, x *ocispec.Index, i int) { x.Manifests[i].ArtifactType = "x/y" }, nil, 0},
		"not listed": {func(_ *testing.T, _ string, x *ocispec.Index, i int) {
			x.Manifests = slices.Delete(x.Manifests, i, i+1)
		}, nil, 0},
		"by the fallback tag": {func(t *testing.T, dir string, x *ocispec.Index, i int) {
			data := index(t, x.Manifests[i])
			d := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: digest.FromBytes(data), Size: int64(len(data))}
			d.Annotations = map[string]string{ocispec.AnnotationRefName: "sha256-" + x.Manifests[1-i].Digest.Encoded()}
			writeFile(t, blobFile(dir, d), data)
			x.Manifests[i] = d
		}, nil, 1},
		"gone": {func(t *testing.T, dir string, x *ocispec.Index, i int) {
			if err := os.Remove(blobFile(dir, x.Manifests[i])); err != nil {
				t.Fatal(err)
			}
		}, nil, 0},
		"changed": {func(t *testing.T, dir string, x *ocispec.Index, i int) {
			writeFile(t, blobFile(dir, x.Manifests[i]), []byte(strings.Repeat("x", int(x.Manifests[i].Size))))
		}, isA[*registry.DigestError], 0},
		"many": {func(_ *testing.T, _ string, x *ocispec.Index, i int) {
			for n := range 1001 {
				x.Manifests = append(x.Manifests, listed([]byte(fmt.Sprint(n)), bundleType))
			}
		}, isA[*registry.TooManyError], 0},
		"many others": {func(_ *testing.T, _ string, x *ocispec.Index, i int) {
			for n := range 1001 {
				x.Manifests = append(x.Manifests, listed([]byte(fmt.Sprint(n)), "x/y"))
			}
		}, nil, 1},
		"no JSON": {func(t *testing.T, dir string, x *ocispec.Index, _ int) {
			writeFile(t, filepath.Join(dir, "oci-layout"), []byte("{"))
		}, isA[*registry.ManifestError], 0},
		"two under the tag": {func(_ *testing.T, _ string, x *ocispec.Index, i int) {
			for n := range 2 {
				d := listed([]byte(fmt.Sprint(n)), "x/y")
				d.Annotations = map[string]string{ocispec.AnnotationRefName: "sha256-" + x.Manifests[1-i].Digest.Encoded()}
				x.Manifests = append(x.Manifests, d)
			}
		}, isA[*registry.ManifestError], 0},
	} {
		dir, a := pushedLayout(t)
		d := mustAttach(t, newClient(t, registry.Options{}), a.From, a.Root, bundleOf("x"))
		path := filepath.Join(dir, "index.json")
		var x ocispec.Index
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &x)
		}
		if err != nil {
			t.Fatal(err)
		}
		tt.edit(t, dir, &x, slices.IndexFunc(x.Manifests, func(m ocispec.Descriptor) bool { return m.Digest == d.Digest }))
		writeFile(t, path, toJSON(t, x))
		got, err := a.Attachments(t.Context(), a.Root.Digest, q(a.Root.Digest))
		if tt.want == nil && (err != nil || len(got) != tt.n) || tt.want != nil && (err == nil || !tt.want(err)) {
			t.Errorf("%s: %d found, want %d: %v", name, len(got), tt.n, err)
		}
	}
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestManifests(t *testing.T) {
	t.Parallel()
	for where, p := range attachPlaces(t) {
		pushed, err := p.writer.Push(t.Context(), mustParse(t, p.prefix+"programs:v1"), bundles()["programs"])
		if err != nil {
			t.Fatal(err)
		}
		found, err := p.reader.Resolve(t.Context(), mustParse(t, p.prefix+"programs:v1"), registry.Want{})
		if err != nil {
			t.Fatal(err)
		}
		for name, a := range map[string]registry.Artifact{"pushed": pushed, "found": found} {
			got, err := p.reader.Manifests(t.Context(), a)
			if err != nil || len(got) != 2 || !slices.ContainsFunc(got, func(d ocispec.Descriptor) bool { return d.Digest == found.Manifest.Digest }) {
				t.Errorf("%s, %s: %v, %v", where, name, got, err)
			}
			for _, d := range got {
				mustAttach(t, p.writer, a.From, d, bundleOf(d.Platform.OS))
			}
		}
		if got, err := found.Attachments(t.Context(), found.Manifest.Digest, signatures(found.Manifest.Digest)); err != nil || len(got) != 1 {
			t.Errorf("%s: of a child %d, %v", where, len(got), err)
		}
		if got, err := found.Attachments(t.Context(), found.Root.Digest, signatures(found.Root.Digest)); err != nil || len(got) != 0 {
			t.Errorf("%s: of the index %d, %v", where, len(got), err)
		}
	}
}

func TestHostileIndexes(t *testing.T) {
	t.Parallel()
	f := regtest.Serve(t)
	catalog := fillCatalog(t, f)
	leaf := child(catalog, len(orasManifest(t, "catalog.yaml", "application/vnd.cncf.kubernetes.krm-func-catalog.layer.v1+yaml", []byte(catalogYAML))), here())
	nest := func(data []byte) ocispec.Descriptor {
		f.Manifest(ocispec.MediaTypeImageIndex, data)
		return ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: digest.FromBytes(data), Size: int64(len(data))}
	}
	odd := leaf
	odd.MediaType, odd.Digest = "text/plain", someDigest
	var many []ocispec.Descriptor
	for i := range 1001 {
		many = append(many, child(digest.FromString(fmt.Sprint(i)), 1, ""))
	}
	for name, tt := range map[string]struct {
		children []ocispec.Descriptor
		want     func(error) bool
		n        int
	}{
		"one":            {[]ocispec.Descriptor{leaf}, nil, 1},
		"twice":          {[]ocispec.Descriptor{leaf, leaf}, nil, 1},
		"no manifest":    {[]ocispec.Descriptor{leaf, odd}, nil, 1},
		"nested":         {[]ocispec.Descriptor{leaf, nest(index(t, leaf))}, nil, 2},
		"nested twice":   {[]ocispec.Descriptor{leaf, nest(index(t, nest(index(t, leaf))))}, nil, 3},
		"nested thrice":  {[]ocispec.Descriptor{leaf, nest(index(t, nest(index(t, nest(index(t, leaf))))))}, isA[*registry.ManifestError], 0},
		"nested nowhere": {[]ocispec.Descriptor{leaf, {MediaType: ocispec.MediaTypeImageIndex, Digest: someDigest, Size: 9}}, isA[*registry.NotFoundError], 0},
		"1001":           {append([]ocispec.Descriptor{leaf}, many...), isA[*registry.TooManyError], 0},
	} {
		f.Manifest(ocispec.MediaTypeImageIndex, index(t, tt.children...), "x")
		c := newClient(t, registry.Options{})
		a, err := c.Resolve(t.Context(), mustParse(t, "oci://"+f.Host+"/team/catalog:x"), registry.Want{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := c.Manifests(t.Context(), a)
		if tt.want == nil && (err != nil || len(got) != tt.n) || tt.want != nil && (err == nil || !tt.want(err)) {
			t.Errorf("%s: %d found, want %d: %v", name, len(got), tt.n, err)
		}
	}
	c := newClient(t, registry.Options{})
	a, err := c.Resolve(t.Context(), mustParse(t, "oci://"+f.Host+"/team/catalog:v1"), registry.Want{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Manifests(t.Context(), a); got != nil || err != nil {
		t.Errorf("below a manifest: %v, %v", got, err)
	}
}
