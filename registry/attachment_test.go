package registry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

const (
	bundleType = "application/vnd.example.bundle.v0.3+json"
	sigType    = "application/vnd.example.simplesigning.v1+json"
)

func sigTag(d digest.Digest) string { return "sha256-" + d.Encoded() + ".sig" }

func signatures(d digest.Digest) registry.Query {
	return registry.Query{Tags: []string{sigTag(d)}, ArtifactTypes: []string{"application/vnd.example.bundle"}}
}

func attached(mediaType, data string, annotations map[string]string) registry.AttachedFile {
	return registry.AttachedFile{Descriptor: ocispec.Descriptor{MediaType: mediaType, Annotations: annotations}, Data: []byte(data)}
}

func bundleOf(data string) registry.Attachment {
	return registry.Attachment{
		ArtifactType: bundleType, Annotations: map[string]string{"k": "v"},
		Files: []registry.AttachedFile{attached(bundleType, data, nil)},
	}
}

func signatureOf(d digest.Digest, data, sig string) registry.Attachment {
	return registry.Attachment{Tag: sigTag(d), Files: []registry.AttachedFile{attached(sigType, data, map[string]string{"sig": sig})}}
}

// attachPlaces returns one place of each kind that supports attachments.
func attachPlaces(t *testing.T) map[string]place {
	t.Helper()
	plain, logins := regtest.Start(t, regtest.Options{}), regtest.Start(t, regtest.Options{Logins: true})
	proxy := regtest.ServeProxy(t, plain, regtest.Referrers())
	docker := regtest.DockerConfig(t, logins.Host)
	two := func(prefix string, o registry.Options) place {
		return place{prefix, newClient(t, o), newClient(t, o)}
	}
	return map[string]place{
		"layout":        two("oci-layout://"+filepath.Join(t.TempDir(), "layouts")+"/", registry.Options{}),
		"fallback tag":  two("oci://"+plain.Host+"/fallback/", registry.Options{}),
		"with a login":  two("oci://"+logins.Host+"/a/", registry.Options{DockerConfigDir: docker}),
		"referrers API": two("oci://"+proxy.Host+"/api/", registry.Options{}),
	}
}

func mustAttach(t testing.TB, c *registry.Client, l reference.Locator, subject ocispec.Descriptor, a registry.Attachment) ocispec.Descriptor {
	t.Helper()
	d, err := c.Attach(t.Context(), l, subject, a)
	if err != nil {
		t.Fatalf("attaching at %s: %v", l, err)
	}
	return d
}

func contents(as []registry.Attachment) []string {
	var all []string
	for _, a := range as {
		for _, f := range a.Files {
			all = append(all, string(f.Data))
		}
	}
	return all
}

func TestAttach(t *testing.T) {
	t.Parallel()
	for where, p := range attachPlaces(t) {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			l := mustParse(t, p.prefix+"catalog:v1")
			pushed, err := p.writer.Push(t.Context(), l, bundles()["catalog"])
			if err != nil {
				t.Fatal(err)
			}
			other, err := p.writer.Push(t.Context(), mustParse(t, p.prefix+"catalog:v2"), bundles()["definition"])
			if err != nil {
				t.Fatal(err)
			}
			subject := pushed.Root.Digest
			if got, err := pushed.Attachments(t.Context(), subject, signatures(subject)); err != nil || got != nil {
				t.Errorf("before any: %+v, %v", got, err)
			}
			first := mustAttach(t, p.writer, l, pushed.Root, bundleOf("one"))
			if again := mustAttach(t, p.writer, l, pushed.Root, bundleOf("one")); again.Digest != first.Digest {
				t.Errorf("attached again: %s, first %s", again.Digest, first.Digest)
			}
			mustAttach(t, p.writer, l, pushed.Root, bundleOf("two"))
			mustAttach(t, p.writer, l, other.Root, bundleOf("of another"))
			unlike := bundleOf("of another type")
			unlike.ArtifactType = "application/vnd.example.sbom"
			mustAttach(t, p.writer, l, pushed.Root, unlike)
			for _, sig := range []string{"a", "b", "a"} {
				mustAttach(t, p.writer, l, pushed.Root, signatureOf(subject, "payload", sig))
			}
			checkAttached(t, p, l, first.Digest)
		})
	}
}

func checkAttached(t *testing.T, p place, l reference.Locator, first digest.Digest) {
	t.Helper()
	a, err := p.reader.Resolve(t.Context(), l, registry.Want{})
	if err != nil {
		t.Fatal(err)
	}
	subject := a.Root.Digest
	got, err := a.Attachments(t.Context(), subject, signatures(subject))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"payload", "payload", "one", "two"}; !slices.Equal(contents(got), want) || len(got) != 3 {
		t.Fatalf("attached is %q in %d, want %q in 3", contents(got), len(got), want)
	}
	sig, bundle := got[0], got[1]
	if sig.Tag != sigTag(subject) || sig.ArtifactType != ocispec.MediaTypeImageConfig ||
		sig.Files[0].Annotations["sig"] != "a" || sig.Files[1].Annotations["sig"] != "b" || sig.Files[0].MediaType != sigType {
		t.Errorf("the signature is %+v", sig)
	}
	if bundle.Tag != "" || bundle.ArtifactType != bundleType || bundle.Manifest.Digest != first || bundle.Annotations["k"] != "v" {
		t.Errorf("the bundle is %+v", bundle)
	}
	for _, at := range got {
		for _, f := range at.Files {
			if f.Digest != digest.FromBytes(f.Data) || f.Size != int64(len(f.Data)) {
				t.Errorf("a file of %d bytes is described as %+v", len(f.Data), f.Descriptor)
			}
		}
	}
	q := signatures(subject)
	q.Annotations = map[string]string{"k": "w", "absent": "x"}
	if got, err := a.Attachments(t.Context(), subject, q); err != nil || len(got) != 1 {
		t.Errorf("with another annotation wanted: %+v, %v", got, err)
	}
	if got, err := a.Attachments(t.Context(), subject, registry.Query{}); err != nil || got != nil {
		t.Errorf("nothing asked for: %+v, %v", got, err)
	}
}

// TestFallbackIndex checks that oras finds attachments in a registry without the referrers API.
func TestFallbackIndex(t *testing.T) {
	t.Parallel()
	reg := regtest.Start(t, regtest.Options{})
	c := newClient(t, registry.Options{})
	l := mustParse(t, "oci://"+reg.Host+"/a/b:v1")
	a, err := c.Push(t.Context(), l, bundles()["catalog"])
	if err != nil {
		t.Fatal(err)
	}
	d := mustAttach(t, c, l, a.Root, bundleOf("one"))
	var index ocispec.Index
	getJSON(t, "http://"+reg.Host+"/v2/a/b/manifests/sha256-"+a.Root.Digest.Encoded(), ocispec.MediaTypeImageIndex, &index)
	if len(index.Manifests) != 1 || index.Manifests[0].Digest != d.Digest || index.Manifests[0].ArtifactType != bundleType ||
		index.Manifests[0].Annotations["k"] != "v" {
		t.Errorf("the index has %+v", index.Manifests)
	}
	var m ocispec.Manifest
	getJSON(t, "http://"+reg.Host+"/v2/a/b/manifests/"+d.Digest.String(), ocispec.MediaTypeImageManifest, &m)
	if m.Subject == nil || m.Subject.Digest != a.Root.Digest || m.Subject.Size != a.Root.Size || m.Subject.MediaType != a.Root.MediaType ||
		m.Config.MediaType != ocispec.MediaTypeEmptyJSON || m.ArtifactType != bundleType || len(m.Subject.Annotations) != 0 {
		t.Errorf("the manifest is %+v", m)
	}
	mustAttach(t, c, l, a.Root, signatureOf(a.Root.Digest, "payload", "x"))
	getJSON(t, "http://"+reg.Host+"/v2/a/b/manifests/"+sigTag(a.Root.Digest), ocispec.MediaTypeImageManifest, &m)
	var image ocispec.Image
	getJSON(t, "http://"+reg.Host+"/v2/a/b/blobs/"+m.Config.Digest.String(), "", &image)
	if m.Config.MediaType != ocispec.MediaTypeImageConfig || image.Created != nil || image.RootFS.Type != "layers" ||
		!slices.Equal(image.RootFS.DiffIDs, []digest.Digest{digest.FromString("payload")}) {
		t.Errorf("the config is %+v", image)
	}
}

// serveSigned serves a catalog with a signature under a tag and a bundle in the list that
// how may change.
func serveSigned(t testing.TB, how ...regtest.Middleware) (*regtest.Fake, registry.Artifact) {
	t.Helper()
	f, ref := serveCatalog(t, how...)
	a, err := newClient(t, registry.Options{Limits: registry.Limits{Manifest: 1 << 20}}).Resolve(t.Context(), mustParse(t, ref), registry.Want{})
	if err != nil {
		t.Fatal(err)
	}
	f.Manifest(ocispec.MediaTypeImageManifest, attachment(t, f, "", "", "signature"), sigTag(a.Root.Digest))
	bundle := attachment(t, f, bundleType, a.Root.Digest, "bundle")
	f.Manifest(ocispec.MediaTypeImageManifest, bundle)
	f.Manifest(ocispec.MediaTypeImageIndex, index(t, listed(bundle, bundleType)), "sha256-"+a.Root.Digest.Encoded())
	return f, a
}

// attachment is a manifest with one file, whose blob is served.
func attachment(t testing.TB, f *regtest.Fake, artifactType string, subject digest.Digest, data string) []byte {
	t.Helper()
	m := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: artifactType,
		Config: ocispec.DescriptorEmptyJSON,
		Layers: []ocispec.Descriptor{{MediaType: sigType, Digest: f.Blob([]byte(data)), Size: int64(len(data))}},
	}
	if subject != "" {
		m.Subject = &ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: subject, Size: 1}
	}
	return toJSON(t, m)
}

func listed(manifest []byte, artifactType string) ocispec.Descriptor {
	return ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromBytes(manifest), Size: int64(len(manifest)), ArtifactType: artifactType,
	}
}

// list responds to the n-th request of the referrers API, from 0, with the result of next.
func list(next func(w http.ResponseWriter, r *http.Request, n int) []ocispec.Descriptor) regtest.Middleware {
	n := make(chan int, 1)
	n <- 0
	return regtest.On("/referrers/", func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			i := <-n
			n <- i + 1
			regtest.AnswerReferrers(w, next(w, r, i))
		})
	})
}

func only(ds func() []ocispec.Descriptor) regtest.Middleware {
	return list(func(http.ResponseWriter, *http.Request, int) []ocispec.Descriptor { return ds() })
}

func TestAttachmentTrouble(t *testing.T) {
	t.Parallel()
	unreachable, tooMany, tooLarge := isA[*registry.UnreachableError], isA[*registry.TooManyError], isA[*registry.TooLargeError]
	none := http.StatusNotFound
	for name, c := range map[string]struct {
		how  regtest.Middleware
		want func(error) bool // nil: both are found
		got  []string         // where want is nil, and it is not both
	}{
		"as it should be":            {how: regtest.First(0, regtest.Reset())},
		"no signature tag":           {how: regtest.On(".sig", regtest.Fail(none, "")), got: []string{"bundle"}},
		"no fallback tag":            {how: fallback(regtest.Fail(none, "")), got: []string{"signature"}},
		"no API: 400":                {how: regtest.On("/referrers/", regtest.Fail(400, ""))},
		"no API: 405":                {how: regtest.On("/referrers/", regtest.Fail(405, ""))},
		"no API: a page for people":  {how: regtest.On("/referrers/", regtest.Announce(10))},
		"500 for a while":            {how: regtest.On("/referrers/", regtest.First(2, regtest.Fail(500, "")))},
		"cut index":                  {how: fallback(regtest.First(1, regtest.Truncate()))},
		"cut signature manifest":     {how: regtest.On(".sig", regtest.First(1, regtest.Truncate()))},
		"500 at the signature tag":   {how: regtest.On(".sig", regtest.Fail(500, "")), want: unreachable},
		"401 at the signature tag":   {how: regtest.On(".sig", regtest.Login()), want: unreachable},
		"403 at the signature tag":   {how: regtest.On(".sig", regtest.Fail(403, "")), want: unreachable},
		"resets at the tag":          {how: regtest.On(".sig", regtest.Reset()), want: unreachable},
		"500 at the API":             {how: regtest.On("/referrers/", regtest.Fail(500, "")), want: unreachable},
		"401 at the API":             {how: regtest.On("/referrers/", regtest.Login()), want: unreachable},
		"403 at the API":             {how: regtest.On("/referrers/", regtest.Fail(403, "")), want: unreachable},
		"429 at the API":             {how: regtest.On("/referrers/", regtest.Fail(429, "86400")), want: unreachable},
		"501 at the API":             {how: regtest.On("/referrers/", regtest.Fail(501, "")), want: unreachable},
		"500 at the fallback tag":    {how: fallback(regtest.Fail(500, "")), want: unreachable},
		"401 at the fallback tag":    {how: fallback(regtest.Login()), want: unreachable},
		"tampered signature":         {how: regtest.On(".sig", regtest.Tamper()), want: isA[*registry.DigestError]},
		"tampered index":             {how: fallback(regtest.Tamper()), want: isA[*registry.DigestError]},
		"tampered files":             {how: regtest.On("/blobs/", regtest.Tamper()), want: isA[*registry.DigestError]},
		"missing files":              {how: regtest.On("/blobs/", regtest.Fail(none, "")), want: isA[*registry.NotFoundError]},
		"100 MB under the tag":       {how: regtest.On(".sig", regtest.Announce(100<<20)), want: tooLarge},
		"endless under the tag":      {how: regtest.On(".sig", regtest.Endless(100)), want: isA[*registry.DigestError]},
		"endless list":               {how: regtest.On("/referrers/", endlessList), want: tooLarge},
		"list that is no JSON":       {how: regtest.On("/referrers/", answerText("[")), want: isA[*registry.ManifestError]},
		"pages without end":          {how: list(nextPage("", 0)), want: tooMany},
		"pages in a circle":          {how: list(nextPage("?same", 0)), want: tooMany},
		"a flood in pages":           {how: list(nextPage("", 300)), want: tooMany},
		"pages at another host":      {how: list(nextPage("http://127.0.0.1:1/", 0)), want: unreachable},
		"pages with credentials":     {how: list(nextPage("//u:p@127.0.0.1:1/", 0)), want: unreachable},
		"pages nowhere":              {how: list(badLink), want: unreachable},
		"a second page that is gone": {how: secondPageGone(), want: isA[*registry.NotFoundError]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, a := serveSigned(t, c.how)
			got, err := a.Attachments(t.Context(), a.Root.Digest, signatures(a.Root.Digest))
			want := c.got
			if want == nil && c.want == nil {
				want = []string{"signature", "bundle"}
			}
			switch {
			case c.want != nil && (err == nil || !c.want(err) || got != nil):
				t.Errorf("%q, %v (%T)", contents(got), err, err)
			case c.want == nil && (err != nil || !slices.Equal(contents(got), want)):
				t.Errorf("%q, want %q, %v", contents(got), want, err)
			}
		})
	}
}

// fallback applies m to the fallback tag alone.
func fallback(m regtest.Middleware) regtest.Middleware {
	return func(next http.Handler) http.Handler {
		changed := m(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/manifests/sha256-") && !strings.HasSuffix(r.URL.Path, ".sig") {
				changed.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func endlessList(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", ocispec.MediaTypeImageIndex)
		for {
			if _, err := w.Write([]byte(strings.Repeat(" ", 32<<10))); err != nil {
				return
			}
		}
	})
}

func answerText(text string) regtest.Middleware {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", ocispec.MediaTypeImageIndex)
			_, _ = w.Write([]byte(text))
		})
	}
}

// nextPage lists many irrelevant descriptors and always has another page.
func nextPage(to string, many int) func(http.ResponseWriter, *http.Request, int) []ocispec.Descriptor {
	return func(w http.ResponseWriter, _ *http.Request, n int) []ocispec.Descriptor {
		at := to
		if at == "" {
			at = fmt.Sprintf("?page=%d", n)
		}
		w.Header().Set("Link", "<"+at+`>; rel="next"`)
		return slices.Repeat([]ocispec.Descriptor{listed([]byte("x"), "of/no+interest")}, many)
	}
}

func badLink(w http.ResponseWriter, _ *http.Request, _ int) []ocispec.Descriptor {
	w.Header().Set("Link", "there is more")
	return nil
}

func secondPageGone() regtest.Middleware {
	first := list(nextPage("", 0))
	return func(next http.Handler) http.Handler {
		gone, there := regtest.Fail(http.StatusNotFound, "")(next), first(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != "" {
				gone.ServeHTTP(w, r)
				return
			}
			there.ServeHTTP(w, r)
		})
	}
}

// TestListElsewhere checks that the next page of a list of referrers is only requested from the
// same registry. The other server would list a valid signature.
func TestListElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		link func(own, other string) string // hosts with their ports
		ok   bool
	}{
		"a path":            {func(string, string) string { return "/more" }, true},
		"its whole address": {func(own, _ string) string { return "http://" + own + "/more" }, true},
		"another port":      {func(_, other string) string { return "http://" + other + "/more" }, false},
		"no scheme":         {func(_, other string) string { return "//" + other + "/more" }, false},
		"own credentials":   {func(own, _ string) string { return "http://u:p@" + own + "/more" }, false},
		"with TLS":          {func(own, _ string) string { return "https://" + own + "/more" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bundle []byte
			more := func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					regtest.AnswerReferrers(w, []ocispec.Descriptor{listed(bundle, bundleType)})
				})
			}
			other := regtest.Serve(t, more)
			first := list(func(w http.ResponseWriter, r *http.Request, _ int) []ocispec.Descriptor {
				w.Header().Set("Link", "<"+c.link(r.Host, other.Host)+`>; rel="next"`)
				return nil
			})
			f, a := serveSigned(t, regtest.On("/more", more), first)
			bundle = attachment(t, f, bundleType, a.Root.Digest, "listed on the second page")
			f.Manifest(ocispec.MediaTypeImageManifest, bundle)
			q := signatures(a.Root.Digest)
			q.Tags = nil
			got, err := a.Attachments(t.Context(), a.Root.Digest, q)
			refused := got == nil && isA[*registry.UnreachableError](err) && strings.Contains(err.Error(), "is on another host")
			if c.ok && (err != nil || len(got) != 1) || !c.ok && !refused {
				t.Errorf("found %q, %v", contents(got), err)
			}
			asked := f.Count(http.MethodGet, "/more") + other.Count(http.MethodGet, "")
			if c.ok != (asked == 1) || !c.ok && asked > 0 {
				t.Errorf("the second page was asked for %d times", asked)
			}
		})
	}
}

// TestHostileReferrers checks that listed manifests are verified to be attached.
func TestHostileReferrers(t *testing.T) {
	t.Parallel()
	type served struct {
		f *regtest.Fake
		a registry.Artifact
	}
	many := func(n int, artifactType string) func(*testing.T, served) []ocispec.Descriptor {
		return func(t *testing.T, s served) []ocispec.Descriptor {
			var all []ocispec.Descriptor
			for i := range n {
				m := attachment(t, s.f, bundleType, s.a.Root.Digest, fmt.Sprint(i))
				s.f.Manifest(ocispec.MediaTypeImageManifest, m)
				all = append(all, listed(m, artifactType))
			}
			return all
		}
	}
	one := func(make func(*testing.T, served) []byte, artifactType string) func(*testing.T, served) []ocispec.Descriptor {
		return func(t *testing.T, s served) []ocispec.Descriptor {
			m := make(t, s)
			s.f.Manifest(ocispec.MediaTypeImageManifest, m)
			return []ocispec.Descriptor{listed(m, artifactType), listed(m, artifactType)}
		}
	}
	referrer := func(artifactType string, subject digest.Digest, size int) func(*testing.T, served) []byte {
		return func(t *testing.T, s served) []byte {
			if subject == "" {
				subject = s.a.Root.Digest
			}
			return attachment(t, s.f, artifactType, subject, strings.Repeat("x", size))
		}
	}
	for name, c := range map[string]struct {
		list func(*testing.T, served) []ocispec.Descriptor
		want func(error) bool
		n    int
	}{
		"listed twice":          {list: one(referrer(bundleType, "", 1), bundleType), n: 1},
		"type not said":         {list: one(referrer(bundleType, "", 1), ""), n: 1},
		"type of the config":    {list: one(referrer(bundleType, "", 1), ocispec.MediaTypeEmptyJSON), n: 1},
		"of another subject":    {list: one(referrer(bundleType, someDigest, 1), bundleType)},
		"of no subject":         {list: one(func(t *testing.T, s served) []byte { return attachment(t, s.f, bundleType, "", "x") }, bundleType)},
		"of another type":       {list: one(referrer("text/plain", "", 1), bundleType)},
		"said to be of another": {list: one(referrer(bundleType, "", 1), "text/plain")},
		"an index":              {list: one(func(t *testing.T, _ served) []byte { return index(t) }, bundleType), want: isA[*registry.ManifestError]},
		"no manifest":           {list: one(func(*testing.T, served) []byte { return []byte("{}") }, bundleType), want: isA[*registry.ManifestError]},
		"the subject itself":    {list: func(_ *testing.T, s served) []ocispec.Descriptor { return []ocispec.Descriptor{s.a.Root} }},
		"removed since": {list: func(*testing.T, served) []ocispec.Descriptor {
			return []ocispec.Descriptor{listed([]byte("?"), bundleType)}
		}},
		"digest of nothing": {list: func(*testing.T, served) []ocispec.Descriptor {
			return []ocispec.Descriptor{{MediaType: ocispec.MediaTypeImageManifest, Digest: "sha256:../../x", ArtifactType: bundleType}}
		}, want: isA[*registry.ManifestError]},
		"large file": {list: one(referrer(bundleType, "", 1<<20+1), bundleType), want: isA[*registry.TooLargeError]},
		"largest":    {list: one(referrer(bundleType, "", 1<<20), bundleType), n: 1},
		"too much in all": {list: func(t *testing.T, s served) []ocispec.Descriptor {
			var all []ocispec.Descriptor
			for i := range 9 {
				all = append(all, one(referrer(bundleType, "", 1<<20-i), bundleType)(t, s)...)
			}
			return all
		}, want: isA[*registry.TooLargeError]},
		"64":          {list: many(64, bundleType), n: 64},
		"65":          {list: many(65, bundleType), want: isA[*registry.TooManyError]},
		"65 not said": {list: many(65, ""), want: isA[*registry.TooManyError]},
		"65 others":   {list: many(65, "text/plain")},
		"1001 others": {list: many(1001, "text/plain"), want: isA[*registry.TooManyError]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, api := range []bool{true, false} {
				var all []ocispec.Descriptor
				how := regtest.First(0, regtest.Reset())
				if api {
					how = only(func() []ocispec.Descriptor { return all })
				}
				f, a := serveSigned(t, how)
				all = c.list(t, served{f, a})
				if !api && name == "digest of nothing" {
					continue // it cannot be written into an index that is read
				}
				f.Manifest(ocispec.MediaTypeImageIndex, index(t, all...), "sha256-"+a.Root.Digest.Encoded())
				q := signatures(a.Root.Digest)
				q.Tags = nil
				got, err := a.Attachments(t.Context(), a.Root.Digest, q)
				if c.want == nil && (err != nil || len(got) != c.n) || c.want != nil && (err == nil || !c.want(err)) {
					t.Errorf("api %v: %d found, want %d: %v", api, len(got), c.n, err)
				}
			}
		})
	}
}

func TestHostileSignatureTag(t *testing.T) {
	t.Parallel()
	layers := func(n int, size int64) ocispec.Manifest {
		m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, Config: ocispec.DescriptorEmptyJSON}
		m.Layers = slices.Repeat([]ocispec.Descriptor{{MediaType: sigType, Digest: digest.FromString("signature"), Size: size}}, n)
		return m
	}
	for name, c := range map[string]struct {
		mediaType string
		content   any
		want      func(error) bool
		names     string
	}{
		"an index":         {ocispec.MediaTypeImageIndex, ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, Manifests: []ocispec.Descriptor{}}, isA[*registry.ManifestError], ".sig"},
		"neither":          {ocispec.MediaTypeImageManifest, map[string]int{"schemaVersion": 2}, isA[*registry.ManifestError], ".sig"},
		"1001 files":       {ocispec.MediaTypeImageManifest, layers(1001, 9), isA[*registry.TooManyError], "1000"},
		"a large file":     {ocispec.MediaTypeImageManifest, layers(1, 1<<40), isA[*registry.TooLargeError], ""},
		"much in all":      {ocispec.MediaTypeImageManifest, layers(9, 1<<20), isA[*registry.TooLargeError], ""},
		"a size too small": {ocispec.MediaTypeImageManifest, layers(1, 3), isA[*registry.DigestError], ""},
		"a negative size":  {ocispec.MediaTypeImageManifest, layers(1, -1), isA[*registry.ManifestError], ""},
		"999 files":        {ocispec.MediaTypeImageManifest, layers(999, 9), nil, ""},
	} {
		f, a := serveSigned(t)
		f.Manifest(c.mediaType, toJSON(t, c.content), sigTag(a.Root.Digest))
		got, err := a.Attachments(t.Context(), a.Root.Digest, signatures(a.Root.Digest))
		if c.want == nil && (err != nil || len(got) != 2 || len(got[0].Files) != 999) {
			t.Errorf("%s: %d, %v", name, len(got), err)
		}
		if c.want != nil && (err == nil || !c.want(err) || !strings.Contains(err.Error(), c.names)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAttachmentRequests checks that there are no unnecessary requests, and that content is read
// once.
func TestAttachmentRequests(t *testing.T) {
	t.Parallel()
	f, a := serveSigned(t)
	q := signatures(a.Root.Digest)
	before := len(f.Requests())
	if _, err := a.Attachments(t.Context(), a.Root.Digest, q); err != nil {
		t.Fatal(err)
	}
	// The API, its fallback tag, the bundle's manifest and file; the tag and its file.
	if n := len(f.Requests()) - before; n != 6 {
		t.Errorf("%d requests, want 6", n)
	}
	before = len(f.Requests())
	if got, err := a.Attachments(t.Context(), a.Root.Digest, q); err != nil || len(got) != 2 {
		t.Errorf("again: %+v, %v", got, err)
	}
	if n := len(f.Requests()) - before; n != 3 {
		t.Errorf("%d requests, want 3: tags and lists are not kept, contents are", n)
	}
	before = len(f.Requests())
	q.ArtifactTypes = nil
	if _, err := a.Attachments(t.Context(), a.Root.Digest, q); err != nil || len(f.Requests())-before != 1 {
		t.Errorf("tags alone took %d requests, %v", len(f.Requests())-before, err)
	}
}

func TestAttachmentsCancelled(t *testing.T) {
	t.Parallel()
	for _, part := range []string{".sig", "/referrers/", "/blobs/"} {
		arrived := make(chan struct{}, 1)
		_, a := serveSigned(t, regtest.On(part, regtest.Hang(arrived)))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-arrived; cancel() }()
		if _, err := a.Attachments(ctx, a.Root.Digest, signatures(a.Root.Digest)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// TestNothingAttached checks that a plain file has no attachments.
func TestNothingAttached(t *testing.T) {
	t.Parallel()
	f, _ := serveCatalog(t)
	d := f.Blob([]byte(catalogYAML))
	c := newClient(t, registry.Options{})
	web, err := c.Resolve(t.Context(), mustParse(t, f.URL+"/blobs/"+d.String()), registry.Want{Role: mediatypes.RoleCatalog})
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]registry.Artifact{
		"https": web, "literal": registry.Literal(mustParse(t, "./x"), mediatypes.RoleStarlark, "x", []byte("x")), "none": {},
	} {
		if got, err := a.Attachments(t.Context(), d, signatures(d)); got != nil || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	_, a := serveSigned(t)
	for _, q := range []registry.Query{{Tags: []string{"../x"}}, {Tags: []string{""}}} {
		if _, err := a.Attachments(t.Context(), a.Root.Digest, q); err == nil {
			t.Errorf("%q: no error", q.Tags)
		}
	}
	if _, err := a.Attachments(t.Context(), "sha512:x", signatures(d)); err == nil {
		t.Error("no digest: no error")
	}
}
