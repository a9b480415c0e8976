package registry_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry"
)

// TestHints: what helps against errors that no script can have happen.
func TestHints(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]failure.Detailed{
		"run the same command again": &registry.ConflictError{Ref: "oci://registry.example.com/x:v1", Tag: "sha256-1"},
		"krmcat push REF --platform OS/ARCH=FILE --platform OS/ARCH=FILE, or oras push --artifact-platform OS/ARCH REF FILE before oras manifest index create": &registry.PlatformError{Want: "linux/amd64", Silent: 2},
		"leave out --plain-http":       &registry.UnreachableError{Ref: "oci://registry.example.com/x:v1", Status: 400, Plain: true, Err: io.EOF},
		"--ca-file FILE or --insecure": &registry.UnreachableError{Ref: "oci://localhost:5000/x:v1", Status: 400, Plain: true, Err: io.EOF},
		"":                             &registry.PlatformError{Want: "linux/amd64", Have: []string{"linux/arm64"}, Silent: 2},
	} {
		if got := err.Details().Try; got != want {
			t.Errorf("%v: try %q, want %q", err, got, want)
		}
	}
}

// TestPlainHTTPIsTried: where TLS meets a registry that speaks http, the flag for that is offered.
func TestPlainHTTPIsTried(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	resp, err := http.Get(strings.Replace(plain.URL, "http://", "https://", 1))
	if err == nil {
		_ = resp.Body.Close()
		t.Fatal("TLS with a server that has none")
	}
	if got := (&registry.UnreachableError{Ref: "oci://registry.example.com/x:v1", Err: err}).Details().Try; got != "--plain-http" {
		t.Errorf("%v: try %q", err, got)
	}
}

// TestCertificateFileIsTried: the flag for certificates of an authority that is unknown is offered.
func TestCertificateFileIsTried(t *testing.T) {
	t.Parallel()
	own := httptest.NewUnstartedServer(http.NotFoundHandler())
	own.Config.ErrorLog = log.New(io.Discard, "", 0)
	own.StartTLS()
	defer own.Close()
	resp, err := http.Get(own.URL)
	if err == nil {
		_ = resp.Body.Close()
		t.Fatal("a certificate that nobody signed is trusted")
	}
	if got := (&registry.UnreachableError{Ref: "oci://registry.example.com/x:v1", Err: err}).Details().Try; got != "--ca-file FILE" {
		t.Errorf("%v: try %q", err, got)
	}
}
