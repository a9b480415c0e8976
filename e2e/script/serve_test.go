package script

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/mediatypes"
)

// serve VAR FILE [BEHAVIOUR] starts a registry that has a catalog, or a script (.star), as v1 of
// every repository, and puts its host into a variable. BEHAVIOUR makes it misbehave.
func serve(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: serve VAR FILE [BEHAVIOUR]")
	}
	data, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	var how []regtest.Middleware
	if len(args) == 3 {
		m := behaviour(ts, args[2])
		if m == nil {
			ts.Fatalf("unknown behaviour %q", args[2])
		}
		how = append(how, m)
	}
	seen := &requests{}
	ts.Value(webs{}).(map[string]*requests)[args[0]] = seen
	f := regtest.Serve(t, append(how, seen.note)...)
	role := mediatypes.RoleCatalog
	if filepath.Ext(args[1]) == ".star" {
		role = mediatypes.RoleStarlark
	}
	empty := []byte("{}")
	layer, config := f.Blob(data), f.Blob(empty)
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: role.Artifact(),
		Config:       descriptor(ocispec.MediaTypeEmptyJSON, config, empty),
		Layers:       []ocispec.Descriptor{descriptor(role.Layer(), layer, data)},
	})
	ts.Check(err)
	f.Manifest(ocispec.MediaTypeImageManifest, manifest, "v1")
	ts.Setenv(args[0], f.Host)
}

func descriptor(mediaType string, d digest.Digest, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(data))}
}

// behaviour returns a way to misbehave, nil if the name is unknown.
func behaviour(ts *testscript.TestScript, name string) regtest.Middleware {
	switch name {
	case "tampered-blob":
		return regtest.On("/blobs/", regtest.Tamper())
	case "truncated-blob":
		return regtest.On("/blobs/", regtest.Truncate())
	case "hanging-blob":
		return hanging(ts.MkAbs("arrived"))
	case "tampered-manifest":
		return regtest.On("/manifests/", tamperGet())
	case "huge-manifest":
		return regtest.On("/manifests/", regtest.Announce(100<<20))
	case "endless-manifest":
		return regtest.On("/manifests/", regtest.Endless(1000))
	case "forbidden":
		return regtest.Fail(http.StatusForbidden, "")
	case "login":
		return regtest.Login()
	}
	return nil
}

// hanging never answers a request for a blob, and writes a file when one arrives.
func hanging(marker string) regtest.Middleware {
	arrived := make(chan struct{}, 1)
	go func() {
		<-arrived
		_ = os.WriteFile(marker, []byte("a blob was requested\n"), 0o644)
	}()
	return regtest.On("/blobs/", regtest.Hang(arrived))
}

// tamperGet changes the bodies of answers to GET, but not the answers to HEAD.
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
