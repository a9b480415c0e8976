package regtest

import (
	"io"
	"net/http"
	"strings"

	"github.com/opencontainers/go-digest"
)

// maxUpload bounds what a Fake takes, bytes.
const maxUpload = 16 << 20

// write takes a blob, whole, or a manifest with its tag, and reports whether the request
// was one of these. It is called with f.mu held.
func (f *Fake) write(w http.ResponseWriter, r *http.Request) bool {
	upload := strings.Contains(r.URL.Path, "/blobs/uploads/")
	switch {
	case r.Method == http.MethodPost && upload:
		w.Header().Set("Location", r.URL.Path+"1")
		w.WriteHeader(http.StatusAccepted)
	case r.Method == http.MethodPut:
		data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxUpload))
		d := digest.FromBytes(data)
		if err != nil || upload && r.URL.Query().Get("digest") != d.String() {
			w.WriteHeader(http.StatusBadRequest)
			return true
		}
		if upload {
			f.blobs[d.String()] = data
		} else {
			m := manifest{r.Header.Get("Content-Type"), data}
			f.manifests[d.String()], f.manifests[nameIn(r)] = m, m
		}
		w.Header().Set("Docker-Content-Digest", d.String())
		w.WriteHeader(http.StatusCreated)
	default:
		return false
	}
	return true
}

// nameIn is the tag or digest that a request is about.
func nameIn(r *http.Request) string { return r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] }
