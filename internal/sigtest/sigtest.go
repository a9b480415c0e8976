package sigtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// maxRequest limits the size of a request, in bytes.
const maxRequest = 1 << 20

// Sigstore is a running sigstore. It ends with its test. Its methods may be called concurrently.
type Sigstore struct {
	FulcioURL string // base URL of the certificate authority: /api/v2/signingCert and /api/v1/signingCert
	RekorURL  string // base URL of the transparency log: /api/v1/log/entries
	TSAURL    string // full URL of the timestamp authority

	t         testing.TB
	authority *authority
	impostor  *authority
	log       *transparencyLog
	tsa       *timestampAuthority
	tokenKey  *ecdsa.PrivateKey

	mu sync.Mutex
	b  Behaviour
}

// Behaviour is how a sigstore behaves from now on. The zero value is an honest sigstore.
type Behaviour struct {
	CertificateAge time.Duration // age of new certificates; they are valid for ten minutes
	WithoutSCT     bool          // certificates have no timestamp of a certificate transparency log
	Impostor       bool          // another authority with the same names issues the certificates
	// Extensions are further extensions of certificates, by the last number of Fulcio's object
	// identifiers: https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md.
	Extensions     map[int]string
	LogAge         time.Duration // age of new log entries
	WithoutProof   bool          // the log answers without an inclusion proof
	WithoutPromise bool          // the log answers without a signed entry timestamp
	StampAge       time.Duration // age of new timestamps; the timestamp authority's certificate is a minute old

	// Fulcio, Rekor and TSA refuse every request with a status and a message, if one is set.
	Fulcio, Rekor, TSA Refusal
}

// Refusal is an answer that refuses a request. The zero value refuses nothing.
type Refusal struct {
	Status  int
	Message string
}

// New starts an honest sigstore with keys of its own.
func New(t testing.TB) *Sigstore {
	t.Helper()
	s := &Sigstore{t: t}
	var err error
	if s.tokenKey, err = newKey(); err != nil {
		t.Fatal(err)
	}
	if s.authority, err = newAuthority(); err != nil {
		t.Fatalf("making a certificate authority: %v", err)
	}
	if s.impostor, err = newAuthority(); err != nil {
		t.Fatalf("making a certificate authority: %v", err)
	}
	// The impostor's certificates are in the same log, so that only their chain is wrong.
	s.impostor.ctKey = s.authority.ctKey
	if s.log, err = newTransparencyLog(); err != nil {
		t.Fatalf("making a transparency log: %v", err)
	}
	if s.tsa, err = newTimestampAuthority(); err != nil {
		t.Fatalf("making a timestamp authority: %v", err)
	}
	s.FulcioURL = s.serve(map[string]service{
		"POST /api/v2/signingCert": s.signingCertV2, "POST /api/v1/signingCert": s.signingCertV1,
		"GET /api/v1/rootCert": s.rootCert,
	}, func(b Behaviour) Refusal { return b.Fulcio })
	s.RekorURL = s.serve(map[string]service{
		"POST /api/v1/log/entries": s.createEntry, "GET /api/v1/log/publicKey": s.logPublicKey,
		"POST " + whole + "/api/v1/log/entries": s.createWholeEntry,
	}, func(b Behaviour) Refusal { return b.Rekor })
	s.TSAURL = s.serve(map[string]service{"POST /api/v1/timestamp": s.timestamp},
		func(b Behaviour) Refusal { return b.TSA }) + "/api/v1/timestamp"
	return s
}

// Behave changes how the sigstore behaves from now on.
func (s *Sigstore) Behave(b Behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b = b
}

func (s *Sigstore) behaviour() Behaviour {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b
}

// service answers one request. An error is a fault of the client.
type service func(ctx context.Context, w http.ResponseWriter, r *request) error

// request is an HTTP request whose body was read.
type request struct {
	header http.Header
	body   []byte
}

// serve starts a server with the paths of one service, and returns its URL.
func (s *Sigstore) serve(paths map[string]service, refusal func(Behaviour) Refusal) string {
	mux := http.NewServeMux()
	for pattern, answer := range paths {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if no := refusal(s.behaviour()); no.Status != 0 {
				refuse(w, no.Status, errors.New(no.Message))
				return
			}
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
			if err == nil {
				err = answer(r.Context(), w, &request{header: r.Header, body: body})
			}
			if err != nil {
				refuse(w, http.StatusBadRequest, err)
			}
		})
	}
	server := httptest.NewServer(mux)
	s.t.Cleanup(server.Close)
	return server.URL
}

// refuse answers as Fulcio and Rekor do.
func refuse(w http.ResponseWriter, status int, err error) {
	respond(w, status, map[string]any{"code": status, "message": err.Error()})
}

func respond(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that does not read the answer has gone
}

func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}
