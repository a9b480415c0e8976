package regtest

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
)

// Fake is a registry in this process. It has no referrers API, and ends with its test.
type Fake struct {
	Host string // 127.0.0.1:port
	URL  string // with http:// or https://

	// strict refuses manifests whose parts are missing, as the distribution registry does.
	strict bool

	mu       sync.Mutex
	repos    map[string]*Repository
	shared   *Repository // content of all repositories
	uploads  int
	requests []*http.Request
}

// Middleware changes the answers of a registry, usually to make it misbehave.
type Middleware func(http.Handler) http.Handler

// Serve starts a Fake on loopback. The first middleware is the outermost.
func Serve(t testing.TB, how ...Middleware) *Fake {
	t.Helper()
	f, h := newFake(how)
	return f.start(t, httptest.NewServer(h))
}

// ServeTLS does the same with a certificate that nobody trusts.
func ServeTLS(t testing.TB, how ...Middleware) *Fake {
	t.Helper()
	f, h := newFake(how)
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // clients are expected to refuse the certificate
	s.StartTLS()
	return f.start(t, s)
}

func newFake(how []Middleware) (*Fake, http.Handler) {
	f := &Fake{repos: map[string]*Repository{}, shared: newRepository()}
	return f, f.record(wrap(f, how))
}

// wrap puts middlewares around a handler. The first is the outermost.
func wrap(h http.Handler, how []Middleware) http.Handler {
	for i := len(how) - 1; i >= 0; i-- {
		h = how[i](h)
	}
	return h
}

func (f *Fake) start(t testing.TB, s *httptest.Server) *Fake {
	t.Helper()
	t.Cleanup(s.Close)
	f.URL = s.URL
	f.Host = s.Listener.Addr().String()
	return f
}

// Blob adds a blob to every repository, and returns its digest.
func (f *Fake) Blob(data []byte) digest.Digest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.shared.Blob("", data).Digest
}

// Manifest adds a manifest or an index to every repository, under its digest and under tags.
func (f *Fake) Manifest(mediaType string, data []byte, tags ...string) digest.Digest {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.repos {
		r.Put(Manifest{mediaType, data}, tags...)
	}
	return f.shared.Put(Manifest{mediaType, data}, tags...).Digest
}

// Change calls a function that reads or changes a repository. No request is answered during the
// call.
func (f *Fake) Change(repo string, do func(*Repository)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f.repository(repo))
}

// repository returns a repository, and makes it if it does not exist.
func (f *Fake) repository(name string) *Repository {
	if f.repos[name] == nil {
		f.repos[name] = newRepository()
	}
	return f.repos[name]
}

// Requests returns every request so far, also those that a middleware answered.
func (f *Fake) Requests() []*http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*http.Request(nil), f.requests...)
}

// Count returns how many requests so far have the method, and a path that contains part.
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

// place is the content that a request is for.
type place struct{ repo, kind, name string }

// Parts returns the repository, the kind and the name of a path /v2/REPO/KIND/NAME. The kind is
// manifests, blobs, blobs/uploads, referrers or tags.
func Parts(path string) (repo, kind, name string, ok bool) {
	path, ok = strings.CutPrefix(path, "/v2/")
	for _, k := range []string{"manifests", "blobs/uploads", "blobs", "referrers", "tags"} {
		if before, after, found := strings.Cut(path, "/"+k+"/"); found {
			return before, k, after, ok
		}
	}
	return "", "", "", false
}

// ServeHTTP answers a request without the middlewares.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	repo, kind, name, ok := Parts(r.URL.Path)
	if !ok { // else a file on a web server, by its digest
		kind, name = "blobs", path.Base(r.URL.Path)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	to := place{repo, kind, name}
	if r.URL.Path == "/v2/" || f.write(w, r, to) {
		return
	}
	m, found := f.find(to)
	switch {
	case kind == "tags" && f.repos[repo] != nil:
		f.repos[repo].tags(w, repo)
	case !found:
		http.NotFound(w, r)
	default:
		send(w, r, m)
	}
}

// find looks for a manifest or a blob in its repository, and in the content of all repositories.
func (f *Fake) find(what place) (m Manifest, ok bool) {
	for _, r := range []*Repository{f.repos[what.repo], f.shared} {
		if r == nil || ok {
			continue
		}
		switch what.kind {
		case "manifests":
			m, ok = r.Manifests[what.name]
		case "blobs":
			m.MediaType = "application/octet-stream"
			m.Data, ok = r.Blobs[what.name]
		}
	}
	return m, ok
}

// send answers with a manifest or a blob. The digest in the header is the digest of the bytes,
// unless a middleware has set the header.
func send(w http.ResponseWriter, r *http.Request, m Manifest) {
	w.Header().Set("Content-Type", m.MediaType)
	if w.Header().Get("Docker-Content-Digest") == "" {
		w.Header().Set("Docker-Content-Digest", digest.FromBytes(m.Data).String())
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(m.Data)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(m.Data)
	}
}

// ServeProxy starts a server on loopback that passes every request to a real registry, through
// middlewares. The first is the outermost. The Fake that it returns has no content of its own.
func ServeProxy(t testing.TB, r *Registry, how ...Middleware) *Fake {
	t.Helper()
	f := &Fake{}
	h := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: "http", Host: r.Host})
			p.Out.Host = p.In.Host // upload locations then refer to this server
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	return f.start(t, httptest.NewServer(f.record(wrap(h, how))))
}
