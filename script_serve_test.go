package main

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/mediatypes"
)

// serve VAR FILE [BEHAVIOUR] starts a registry that has a catalog at catalog:v1, and puts
// its host into a variable. It may misbehave.
func serve(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: serve VAR FILE [BEHAVIOUR]")
	}
	data, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	var how []regtest.Middleware
	if len(args) == 3 {
		m := behaviours()[args[2]]
		if m == nil {
			ts.Fatalf("no behaviour %q", args[2])
		}
		how = append(how, m)
	}
	f := regtest.Serve(t, how...)
	empty := []byte("{}")
	layer, config := f.Blob(data), f.Blob(empty)
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: mediatypes.CatalogArtifact,
		Config:       descriptor(ocispec.MediaTypeEmptyJSON, config, empty),
		Layers:       []ocispec.Descriptor{descriptor(mediatypes.CatalogLayer, layer, data)},
	})
	ts.Check(err)
	f.Manifest(ocispec.MediaTypeImageManifest, manifest, "v1")
	ts.Setenv(args[0], f.Host)
}

func descriptor(mediaType string, d digest.Digest, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(data))}
}

func behaviours() map[string]regtest.Middleware {
	return map[string]regtest.Middleware{
		"tampered-blob":     regtest.On("/blobs/", regtest.Tamper()),
		"truncated-blob":    regtest.On("/blobs/", regtest.Truncate()),
		"tampered-manifest": regtest.On("/manifests/", tamperGet()),
		"huge-manifest":     regtest.On("/manifests/", regtest.Announce(100<<20)),
		"endless-manifest":  regtest.On("/manifests/", regtest.Endless(1000)),
		"forbidden":         regtest.Fail(http.StatusForbidden, ""),
		"login":             regtest.Login(),
	}
}

// tamperGet tampers with bodies, and lets HEAD tell the truth.
func tamperGet() regtest.Middleware {
	tamper := regtest.Tamper()
	return func(next http.Handler) http.Handler {
		changed := tamper(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				changed.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
