package regtest

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
)

// Fake is a registry in this process: manifests and blobs, the same for every repository.
// It has no referrers API, and ends with its test.
type Fake struct {
	Host string // 127.0.0.1:port
	URL  string // with http:// or https://

	mu        sync.Mutex
	blobs     map[string][]byte
	manifests map[string]manifest
	requests  []*http.Request
}

type manifest struct {
	mediaType string
	data      []byte
}

// Middleware makes a registry misbehave.
type Middleware func(http.Handler) http.Handler

// Serve starts a Fake on loopback, the first middleware outermost.
func Serve(t testing.TB, how ...Middleware) *Fake {
	t.Helper()
	f, h := newFake(how)
	return f.start(t, httptest.NewServer(h))
}

// ServeTLS is Serve with a certificate that nobody trusts.
func ServeTLS(t testing.TB, how ...Middleware) *Fake {
	t.Helper()
	f, h := newFake(how)
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that refuse it are what it is for
	s.StartTLS()
	return f.start(t, s)
}

func newFake(how []Middleware) (*Fake, http.Handler) {
	f := &Fake{blobs: map[string][]byte{}, manifests: map[string]manifest{}}
	var h http.Handler = http.HandlerFunc(f.answer)
	for i := len(how) - 1; i >= 0; i-- {
		h = how[i](h)
	}
	return f, f.record(h)
}

func (f *Fake) start(t testing.TB, s *httptest.Server) *Fake {
	t.Helper()
	t.Cleanup(s.Close)
	f.URL = s.URL
	f.Host = s.Listener.Addr().String()
	return f
}

// Blob adds a blob and returns its digest.
func (f *Fake) Blob(data []byte) digest.Digest {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := digest.FromBytes(data)
	f.blobs[d.String()] = data
	return d
}

// Manifest adds a manifest or an index, under its digest and under tags.
func (f *Fake) Manifest(mediaType string, data []byte, tags ...string) digest.Digest {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := digest.FromBytes(data)
	for _, name := range append(tags, d.String()) {
		f.manifests[name] = manifest{mediaType, data}
	}
	return d
}

// Requests returns every request so far, whoever answered it.
func (f *Fake) Requests() []*http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*http.Request(nil), f.requests...)
}

// Count returns how many requests so far had a method and a path with part in it.
func (f *Fake) Count(method, part string) int {
	n := 0
	for _, r := range f.Requests() {
		if r.Method == method && strings.Contains(r.URL.Path, part) {
			n++
		}
	}
	return n
}

func (f *Fake) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.requests = append(f.requests, r.Clone(r.Context()))
		f.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

func (f *Fake) answer(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := nameIn(r)
	if f.write(w, r) {
		return
	}
	switch {
	case r.URL.Path == "/v2/":
		w.WriteHeader(http.StatusOK)
	case strings.Contains(r.URL.Path, "/manifests/"):
		m, ok := f.manifests[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", m.mediaType)
		send(w, r, m.data)
	default:
		data, ok := f.blobs[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		send(w, r, data)
	}
}

func send(w http.ResponseWriter, r *http.Request, data []byte) {
	w.Header().Set("Docker-Content-Digest", digest.FromBytes(data).String())
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if r.Method != http.MethodHead {
		_, _ = bytes.NewReader(data).WriteTo(w)
	}
}

// ServeProxy starts a server on loopback that hands every request to a real registry,
// through middlewares, the first outermost. What it returns has no content of its own.
func ServeProxy(t testing.TB, r *Registry, how ...Middleware) *Fake {
	t.Helper()
	f := &Fake{}
	var h http.Handler = &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: "http", Host: r.Host})
			p.Out.Host = p.In.Host // so that upload locations come back here
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	for i := len(how) - 1; i >= 0; i-- {
		h = how[i](h)
	}
	return f.start(t, httptest.NewServer(f.record(h)))
}
