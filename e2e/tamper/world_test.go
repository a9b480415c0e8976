package tamper

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/e2e/internal/program"
	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/mediatypes"
)

// world is a registry in which everything can be changed without krmcat's knowledge, and a user's
// directory.
type world struct {
	t    *testing.T
	fake *regtest.Fake
	host string
	dir  string // of the user
	// fallback is set if the registry has no referrers API: the referrers of a manifest are listed
	// under a tag.
	fallback bool

	mu sync.Mutex
	// instead answers in place of the registry where it returns true.
	instead func(http.ResponseWriter, *http.Request) bool
	runs    int
	// started is called with each process of krmcat, unless it is nil.
	started func(*os.Process)
}

// repository is the content of one repository of a world.
type repository = regtest.Repository

// newWorld starts a registry that ends with its test.
func newWorld(t *testing.T, fallback bool) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), fallback: fallback}
	w.fake = regtest.Serve(t, w.disturbed, w.referrers)
	w.host = w.fake.Host
	return w
}

// disturbed is a middleware that calls instead before the registry.
func (w *world) disturbed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		instead := w.instead
		w.mu.Unlock()
		if instead == nil || !instead(rw, r) {
			next.ServeHTTP(rw, r)
		}
	})
}

// answerBy sets a function that answers in place of the registry where it returns true.
func (w *world) answerBy(f func(http.ResponseWriter, *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.instead = f
}

// serve answers as if the request were for another name.
func (w *world) serve(rw http.ResponseWriter, r *http.Request, name string) {
	_, _, asked, _ := regtest.Parts(r.URL.Path)
	other := r.Clone(r.Context())
	other.URL.Path = strings.TrimSuffix(r.URL.Path, asked) + name
	w.referrers(w.fake).ServeHTTP(rw, other)
}

// referrers answers the referrers API, or stores the list of referrers under its tag.
func (w *world) referrers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		repo, kind, name, _ := regtest.Parts(r.URL.Path)
		hex, isTag := strings.CutPrefix(name, "sha256-")
		var list []ocispec.Descriptor
		w.change(repo, func(r *repository) {
			switch {
			case kind == "referrers":
				list = r.Referrers(digest.Digest(name))
			case kind == "manifests" && isTag && w.fallback:
				tagReferrers(r, digest.NewDigestFromEncoded(digest.SHA256, hex), name)
			}
		})
		if kind == "referrers" && !w.fallback {
			regtest.AnswerReferrers(rw, list)
			return
		}
		next.ServeHTTP(rw, r)
	})
}

// tagReferrers stores the list of referrers under the tag that replaces the referrers API.
func tagReferrers(r *repository, subject digest.Digest, tag string) {
	if subject.Validate() != nil { // the tag of legacy signatures, which is longer
		return
	}
	list := r.Referrers(subject)
	if len(list) == 0 {
		delete(r.Manifests, tag)
		return
	}
	put(r, ocispec.MediaTypeImageIndex, ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: list,
	}, tag)
}

// change calls a function that reads or changes a repository.
func (w *world) change(repo string, f func(r *repository)) { w.fake.Change(repo, f) }

// put stores a manifest or an index under its digest and under tags.
func put(r *repository, mediaType string, v any, tags ...string) ocispec.Descriptor {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // structs of the specification can always be encoded
	}
	return r.Put(regtest.Manifest{MediaType: mediaType, Data: data}, tags...)
}

// artifact stores a manifest with one file.
func artifact(r *repository, artifactType, layerType, text string, tags ...string) ocispec.Descriptor {
	m := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: artifactType,
		Config: r.Blob(ocispec.MediaTypeEmptyJSON, []byte("{}")),
		Layers: []ocispec.Descriptor{r.Blob(layerType, []byte(text))},
	}
	return put(r, m.MediaType, m, tags...)
}

// script stores a function in Starlark.
func (w *world) script(repo, text string, tags ...string) (d ocispec.Descriptor) {
	w.change(repo, func(r *repository) {
		d = artifact(r, mediatypes.StarlarkArtifact, mediatypes.StarlarkLayer, text, tags...)
	})
	return d
}

// program stores a function that is a program, and returns the index and its one manifest, which is
// for this platform.
func (w *world) program(repo, text string, tags ...string) (index, child ocispec.Descriptor) {
	w.change(repo, func(r *repository) {
		child = artifact(r, mediatypes.ExecArtifact, mediatypes.ExecLayer, text)
		child.Platform = &ocispec.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}
		index = put(r, ocispec.MediaTypeImageIndex, ocispec.Index{
			Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
			ArtifactType: mediatypes.ExecArtifact, Manifests: []ocispec.Descriptor{child},
		}, tags...)
	})
	return index, child
}

// catalog stores a catalog of functions with runtimes, by kind: {starlark: …}.
func (w *world) catalog(repo string, runtimes map[string]string, tags ...string) (d ocispec.Descriptor) {
	text := "apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata: {name: catalog}\nspec:\n  krmFunctions:\n"
	for _, kind := range []string{"Label", "Prog"} {
		if runtime := runtimes[kind]; runtime != "" {
			text += fmt.Sprintf("  - {group: example.com, names: {kind: %s}, versions: [{name: v1, runtime: %s}]}\n", kind, w.fill(runtime))
		}
	}
	w.change(repo, func(r *repository) {
		d = artifact(r, mediatypes.CatalogArtifact, mediatypes.CatalogLayer, text, tags...)
	})
	return d
}

// fill replaces HOST in a text by the host of the registry.
func (w *world) fill(text string) string { return strings.ReplaceAll(text, "HOST", w.host) }

// write writes a file into the user's directory.
func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(w.fill(text)), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// outcome is how a command ended.
type outcome struct {
	code           int
	stdout, stderr string
}

func (o outcome) String() string {
	return fmt.Sprintf("exit code %d\n--- stdout\n%s--- stderr\n%s", o.code, o.stdout, o.stderr)
}

// said returns everything that a person reads.
func (o outcome) said() string { return o.stdout + o.stderr }

// krmcat runs the real program in the user's directory, with an empty cache.
func (w *world) krmcat(args ...string) outcome {
	w.t.Helper()
	w.mu.Lock()
	w.runs++
	cache := fmt.Sprintf("cache-%d", w.runs)
	w.mu.Unlock()
	return w.cached(cache, args...)
}

// cached runs it with the cache of a name.
func (w *world) cached(cache string, args ...string) outcome {
	w.t.Helper()
	cmd := program.Command(w.t.Context(), w.t)
	for _, a := range args {
		cmd.Args = append(cmd.Args, w.fill(a))
	}
	cmd.Dir = w.dir
	cmd.Env = []string{
		"HOME=" + filepath.Join(w.dir, "home"), "KRMCAT_CACHE_DIR=" + filepath.Join(w.dir, cache),
		"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "GOCOVERDIR=" + w.dir, "COSIGN_PASSWORD=secret",
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	if w.started != nil {
		w.started(cmd.Process)
	}
	err := cmd.Wait()
	var ended *exec.ExitError
	if err != nil && !asExit(err, &ended) {
		w.t.Fatal(err)
	}
	o := outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	if strings.Contains(o.stderr, "goroutine ") || strings.Contains(o.stderr, "panic:") {
		w.t.Fatalf("krmcat %q crashed: %s", args, o)
	}
	return o
}
