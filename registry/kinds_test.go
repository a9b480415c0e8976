package registry_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/registry"
)

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
