package regtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// maxUpload limits the size of a request, in bytes.
const maxUpload = 64 << 20

// write answers a request that changes a repository, and reports whether the request was one. The
// caller holds f.mu.
func (f *Fake) write(w http.ResponseWriter, r *http.Request, to place) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
	default:
		return false
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxUpload))
	repo := f.repository(to.repo)
	switch {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case to.kind == "manifests" && r.Method == http.MethodPut:
		m := Manifest{r.Header.Get("Content-Type"), data}
		if f.strict && !repo.complete(m) {
			w.WriteHeader(http.StatusNotFound)
			return true
		}
		created(w, repo.Put(m, to.name).Digest)
	case to.kind != "blobs/uploads":
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Method == http.MethodPost:
		f.uploads++
		accepted(w, fmt.Sprintf("%s%d", r.URL.Path, f.uploads), 0)
	case r.Method == http.MethodPatch:
		repo.uploads[r.URL.Path] = append(repo.uploads[r.URL.Path], data...)
		accepted(w, r.URL.Path, len(repo.uploads[r.URL.Path]))
	default:
		data = append(repo.uploads[r.URL.Path], data...)
		delete(repo.uploads, r.URL.Path)
		if r.URL.Query().Get("digest") != digest.FromBytes(data).String() {
			w.WriteHeader(http.StatusBadRequest)
			return true
		}
		created(w, repo.Blob("", data).Digest)
	}
	return true
}

func created(w http.ResponseWriter, d digest.Digest) {
	w.Header().Set("Docker-Content-Digest", d.String())
	w.WriteHeader(http.StatusCreated)
}

func accepted(w http.ResponseWriter, location string, size int) {
	w.Header().Set("Location", location)
	w.Header().Set("Range", fmt.Sprintf("0-%d", max(0, size-1)))
	w.WriteHeader(http.StatusAccepted)
}

// tags lists the tags of a repository.
func (r *Repository) tags(w http.ResponseWriter, name string) {
	list := []string{}
	for tag := range r.Manifests {
		if !strings.Contains(tag, ":") {
			list = append(list, tag)
		}
	}
	slices.Sort(list)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "tags": list})
}
