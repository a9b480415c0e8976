package tamper

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"oras.land/oras-go/v2/content"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/e2e/internal/program"
	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/mediatypes"
)

// world is a registry with separate repositories in which everything can be changed behind
// everybody's back, and a user's directory next to it.
type world struct {
	t    *testing.T
	host string
	dir  string // the user's
	// fallback is whether the registry has no referrers API: what refers to a manifest is
	// listed under a tag.
	fallback bool

	mu    sync.Mutex
	repos map[string]*repository
	// instead answers in place of the registry, where it says that it has.
	instead func(http.ResponseWriter, *http.Request) bool
	runs    int
	// started is told of every krmcat, nil for nobody.
	started func(*os.Process)
}

// repository is what one repository of a world has.
type repository struct {
	manifests map[string]stored // by tag and by digest
	blobs     map[string][]byte // by digest
	// listed are referrers that the registry lists beside those that there are.
	listed map[digest.Digest][]ocispec.Descriptor
}

// stored is a manifest or an index, byte for byte.
type stored struct {
	mediaType string
	data      []byte
}

func (s stored) descriptor() ocispec.Descriptor {
	return content.NewDescriptorFromBytes(s.mediaType, s.data)
}

// newWorld starts a registry that ends with its test.
func newWorld(t *testing.T, fallback bool) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), fallback: fallback, repos: map[string]*repository{}}
	s := httptest.NewServer(http.HandlerFunc(w.answer))
	t.Cleanup(s.Close)
	w.host = s.Listener.Addr().String()
	return w
}

// repo is a repository, made where it is missing.
func (w *world) repo(name string) *repository {
	r := w.repos[name]
	if r == nil {
		r = &repository{
			manifests: map[string]stored{}, blobs: map[string][]byte{}, listed: map[digest.Digest][]ocispec.Descriptor{},
		}
		w.repos[name] = r
	}
	return r
}

func (w *world) answer(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	instead := w.instead
	w.mu.Unlock()
	if instead != nil && instead(rw, r) {
		return
	}
	_, _, name, _ := parts(r.URL.Path)
	w.serve(rw, r, name)
}

// serve answers as if what is asked for had a name.
func (w *world) serve(rw http.ResponseWriter, r *http.Request, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	repo, kind, _, ok := parts(r.URL.Path)
	if !ok {
		http.NotFound(rw, r)
		return
	}
	from := w.repo(repo)
	switch kind {
	case "manifests":
		m, ok := from.manifests[name]
		if !ok && w.fallback {
			m, ok = from.fallback(name)
		}
		if !ok {
			http.NotFound(rw, r)
			return
		}
		send(rw, r, m)
	case "blobs":
		data, ok := from.blobs[name]
		if !ok {
			http.NotFound(rw, r)
			return
		}
		send(rw, r, stored{"application/octet-stream", data})
	case "referrers":
		if w.fallback {
			http.NotFound(rw, r)
			return
		}
		regtest.AnswerReferrers(rw, from.referrers(digest.Digest(name)))
	}
}

// answerBy has somebody answer in place of the registry, where they say that they have.
func (w *world) answerBy(f func(http.ResponseWriter, *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.instead = f
}

// parts takes /v2/REPO/KIND/NAME apart.
func parts(path string) (repo, kind, name string, ok bool) {
	path, ok = strings.CutPrefix(path, "/v2/")
	for _, k := range []string{"manifests", "blobs", "referrers"} {
		if before, after, found := strings.Cut(path, "/"+k+"/"); found {
			return before, k, after, ok
		}
	}
	return "", "", "", false
}

// send answers with a manifest as registries do: the digest in the header is that of the
// bytes, unless the header is there already.
func send(rw http.ResponseWriter, r *http.Request, m stored) {
	rw.Header().Set("Content-Type", m.mediaType)
	if rw.Header().Get("Docker-Content-Digest") == "" {
		rw.Header().Set("Docker-Content-Digest", digest.FromBytes(m.data).String())
	}
	rw.Header().Set("Content-Length", strconv.Itoa(len(m.data)))
	if r.Method != http.MethodHead {
		_, _ = rw.Write(m.data)
	}
}

// referrers lists the manifests that name a subject, and what is listed beside.
func (r *repository) referrers(subject digest.Digest) []ocispec.Descriptor {
	var list []ocispec.Descriptor
	for name, m := range r.manifests {
		var read ocispec.Manifest
		isDigest := strings.HasPrefix(name, "sha256:")
		if !isDigest || json.Unmarshal(m.data, &read) != nil || read.Subject == nil || read.Subject.Digest != subject {
			continue
		}
		d := m.descriptor()
		d.Digest = digest.Digest(name) // what is asked for, whatever the bytes are
		d.ArtifactType, d.Annotations = read.ArtifactType, read.Annotations
		list = append(list, d)
	}
	return append(list, r.listed[subject]...)
}

// fallback is the index under the tag that stands in for the referrers API.
func (r *repository) fallback(tag string) (stored, bool) {
	hex, ok := strings.CutPrefix(tag, "sha256-")
	list := r.referrers(digest.NewDigestFromEncoded(digest.SHA256, hex))
	if !ok || len(list) == 0 {
		return stored{}, false
	}
	data, err := json.Marshal(ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: list,
	})
	return stored{ocispec.MediaTypeImageIndex, data}, err == nil
}

// change does something to the registry.
func (w *world) change(repo string, f func(r *repository)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w.repo(repo))
}

// put stores a manifest or an index under its digest and under tags.
func (r *repository) put(mediaType string, v any, tags ...string) ocispec.Descriptor {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // structs of the specification
	}
	m := stored{mediaType, data}
	d := m.descriptor()
	for _, name := range append(tags, d.Digest.String()) {
		r.manifests[name] = m
	}
	return d
}

// blob stores a blob.
func (r *repository) blob(mediaType string, data []byte) ocispec.Descriptor {
	d := content.NewDescriptorFromBytes(mediaType, data)
	r.blobs[d.Digest.String()] = data
	return d
}

// artifact stores a manifest with one file.
func (r *repository) artifact(artifactType, layerType, text string, tags ...string) ocispec.Descriptor {
	m := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: artifactType,
		Config: r.blob(ocispec.MediaTypeEmptyJSON, []byte("{}")),
		Layers: []ocispec.Descriptor{r.blob(layerType, []byte(text))},
	}
	return r.put(m.MediaType, m, tags...)
}

// script stores a function in Starlark.
func (w *world) script(repo, text string, tags ...string) (d ocispec.Descriptor) {
	w.change(repo, func(r *repository) {
		d = r.artifact(mediatypes.StarlarkArtifact, mediatypes.StarlarkLayer, text, tags...)
	})
	return d
}

// program stores a function that is a program: an index with one manifest for this platform.
// The first result is the index, the second the manifest.
func (w *world) program(repo, text string, tags ...string) (index, child ocispec.Descriptor) {
	w.change(repo, func(r *repository) {
		child = r.artifact(mediatypes.ExecArtifact, mediatypes.ExecLayer, text)
		child.Platform = &ocispec.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}
		index = r.put(ocispec.MediaTypeImageIndex, ocispec.Index{
			Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
			ArtifactType: mediatypes.ExecArtifact, Manifests: []ocispec.Descriptor{child},
		}, tags...)
	})
	return index, child
}

// catalog stores a catalog whose functions have runtimes, by their kind: {starlark: …}.
func (w *world) catalog(repo string, runtimes map[string]string, tags ...string) (d ocispec.Descriptor) {
	text := "apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata: {name: catalog}\nspec:\n  krmFunctions:\n"
	for _, kind := range []string{"Label", "Prog"} {
		if runtime := runtimes[kind]; runtime != "" {
			text += fmt.Sprintf("  - {group: example.com, names: {kind: %s}, versions: [{name: v1, runtime: %s}]}\n", kind, w.fill(runtime))
		}
	}
	w.change(repo, func(r *repository) {
		d = r.artifact(mediatypes.CatalogArtifact, mediatypes.CatalogLayer, text, tags...)
	})
	return d
}

// fill writes the registry into a text.
func (w *world) fill(text string) string { return strings.ReplaceAll(text, "HOST", w.host) }

// write writes a file of the user's.
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

// said is all that a person reads.
func (o outcome) said() string { return o.stdout + o.stderr }

// krmcat runs the real program in the user's directory, with a cache that is empty.
func (w *world) krmcat(args ...string) outcome {
	w.t.Helper()
	w.mu.Lock()
	w.runs++
	cache := fmt.Sprintf("cache-%d", w.runs)
	w.mu.Unlock()
	return w.cached(cache, args...)
}

// cached runs it with a cache of a name.
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
