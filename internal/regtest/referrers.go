package regtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Referrers adds the referrers API of OCI 1.1 to a registry without it. The API lists the manifests
// that are pushed through the middleware.
func Referrers() Middleware {
	return func(next http.Handler) http.Handler {
		return &referrers{next: next, lists: map[string][]ocispec.Descriptor{}}
	}
}

type referrers struct {
	next  http.Handler
	mu    sync.Mutex
	lists map[string][]ocispec.Descriptor // by subject
}

// ServeHTTP implements http.Handler.
func (h *referrers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/referrers/"):
		h.mu.Lock()
		defer h.mu.Unlock()
		AnswerReferrers(w, h.lists[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]])
		return
	case r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/"):
		data, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		h.pushed(w, data)
	}
	h.next.ServeHTTP(w, r)
}

// pushed lists a manifest that has a subject, and sets the header that the specification requires
// for it.
func (h *referrers) pushed(w http.ResponseWriter, data []byte) {
	var m ocispec.Manifest
	if json.Unmarshal(data, &m) != nil || m.Subject == nil {
		return
	}
	w.Header().Set("Oci-Subject", m.Subject.Digest.String())
	h.mu.Lock()
	defer h.mu.Unlock()
	subject := m.Subject.Digest.String()
	h.lists[subject] = append(h.lists[subject], ocispec.Descriptor{
		MediaType: m.MediaType, Digest: digest.FromBytes(data), Size: int64(len(data)),
		ArtifactType: m.ArtifactType, Annotations: m.Annotations,
	})
}

// AnswerReferrers writes one page of the referrers API.
func AnswerReferrers(w http.ResponseWriter, listed []ocispec.Descriptor) {
	index := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: listed}
	index.SchemaVersion = 2
	if listed == nil {
		index.Manifests = []ocispec.Descriptor{}
	}
	w.Header().Set("Content-Type", ocispec.MediaTypeImageIndex)
	_ = json.NewEncoder(w).Encode(index)
}
