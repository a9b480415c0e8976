package registry_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

// TestSignaturesAreNotShown checks that no error contains the query of a signed URL.
func TestSignaturesAreNotShown(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]regtest.Middleware{
		"404":           regtest.Fail(http.StatusNotFound, ""),
		"403":           regtest.Fail(http.StatusForbidden, ""),
		"500":           regtest.Fail(http.StatusInternalServerError, ""),
		"reset":         regtest.Reset(),
		"cut":           regtest.Truncate(),
		"too large":     regtest.Announce(1 << 40),
		"endless":       regtest.Endless(0),
		"wrong digest":  regtest.First(0, regtest.Reset()),
		"a circle":      regtest.Redirect(func() string { return "" }),
		"a bad address": regtest.Redirect(func() string { return "http://h.example/?sig=hush%zz" }),
		"no address":    regtest.Redirect(func() string { return "//?sig=hush%zz" }),
	} {
		f := regtest.Serve(t, how)
		d := f.Blob([]byte(catalogYAML))
		_, err := readCatalog(t.Context(), t, newClient(t, registry.Options{Limits: registry.Limits{File: 1 << 20}}), f.URL+"/blobs/"+d.String()+"?sig=hush@"+someDigest)
		if err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), f.URL+"/blobs/"+d.String()+"?…") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, ref := range []string{
		"https://user:word@h.example/x?sig=hush", "https://h.example/x?sig=hush#part", "https:h.example/x?sig=hush",
		"http://h.example/x?sig=hush", "git::https://h.example/x?sig=hush", "https://user:hush?word@h.example/x",
		"https://h.example/x?sig=hush@sha512:0", "ftp://h.example/x?sig=hush",
	} {
		if _, err := reference.Parse(ref); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// TestSignedArtifactsAreNotShown checks the same for errors about resolved artifacts.
func TestSignedArtifactsAreNotShown(t *testing.T) {
	t.Parallel()
	signed := mustParse(t, "https://h.example/x?sig=hush")
	a := registry.Literal(signed, mediatypes.RoleCatalog, "../x", []byte("x"))
	c := newClient(t, registry.Options{})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	untitled := registry.Literal(signed, mediatypes.RoleCatalog, "", []byte("x"))
	_, badIndex := a.ReadFile(t.Context(), 1)
	_, stranger := a.Read(t.Context(), registry.Literal(signed, "", "", []byte("y")).Root)
	_, badTitle := c.Pull(t.Context(), a, t.TempDir())
	_, noDir := c.Pull(t.Context(), untitled, file)
	_, noFiles := c.Pull(t.Context(), registry.Artifact{From: signed}, t.TempDir())
	_, noPush := c.Push(t.Context(), signed, bundles()["catalog"])
	for i, err := range []error{badIndex, stranger, badTitle, noDir, noFiles, noPush} {
		if err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "https://h.example/x?…") {
			t.Errorf("%d: %v", i+1, err)
		}
	}
}

// TestRedirectsDoNotTellWhereFrom checks that redirects have no Referer, because the first URL may
// be signed.
func TestRedirectsDoNotTellWhereFrom(t *testing.T) {
	t.Parallel()
	last := regtest.Serve(t)
	d := last.Blob([]byte(catalogYAML))
	second := regtest.Serve(t, regtest.Redirect(func() string { return last.URL }))
	first := regtest.Serve(t, regtest.Redirect(func() string { return second.URL }))
	got, err := readCatalog(t.Context(), t, newClient(t, registry.Options{}), first.URL+"/blobs/"+d.String()+"?sig=hush")
	if err != nil || got != catalogYAML {
		t.Errorf("got %q, %v", got, err)
	}
	asked := append(second.Requests(), last.Requests()...)
	if len(asked) != 2 {
		t.Errorf("%d requests behind the first", len(asked))
	}
	for _, r := range asked {
		if from := r.Header.Get("Referer"); from != "" {
			t.Errorf("%s was told %q", r.Host, from)
		}
	}
}
