package process

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/e2e/internal/program"
	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/regtest"
)

// fetched is the number of images that a render needs. All of them must be fetched at once.
const fetched = 8

// stuckAfter is the time after which a render that has not requested all of its images is ended.
const stuckAfter = 2 * time.Minute

// TestImagesAreFetchedAtOnce checks that the layers of all images are requested before the registry
// serves any of them, and that no function runs until then.
func TestImagesAreFetchedAtOnce(t *testing.T) {
	t.Parallel()
	f := newFetching(t, "")
	if out, err := f.render(); err != nil {
		t.Fatalf("%v: %s: the layers of these images were requested: %v", err, out, slices.Sorted(maps.Keys(f.asked)))
	}
	if len(f.early) > 0 {
		t.Errorf("these functions ran before all images had been requested: %v", f.early)
	}
	if ran := f.ran(); len(ran) != fetched {
		t.Errorf("these functions ran: %v, want %d: the test does not see which functions run", ran, fetched)
	}
}

// TestNothingRunsWithoutAllImages refuses one layer after all others have been served: that of the
// function that runs last.
func TestNothingRunsWithoutAllImages(t *testing.T) {
	t.Parallel()
	last := fmt.Sprintf("f%d", fetched-1)
	f := newFetching(t, last)
	out, err := f.render()
	if err == nil || !strings.Contains(out, "/fns/"+last+"@") {
		t.Errorf("without one of its images: %v: %s", err, out)
	}
	if len(f.asked) != fetched {
		t.Errorf("the layers of these images were requested: %v", slices.Sorted(maps.Keys(f.asked)))
	}
	if ran := f.ran(); len(ran) > 0 {
		t.Errorf("these functions ran although an image is missing: %v", ran)
	}
}

// fetching is a target with one function for each of several images, and the registry that has the
// images. Each function creates a marker file when it runs.
type fetching struct {
	t   *testing.T
	dir string // of the user
	// refused is the image whose layer is missing once all others have been served, "" for none.
	refused string

	mu     sync.Mutex
	layers map[string]string // the image of each layer, by digest; empty while the images are pushed
	asked  map[string]bool   // images whose layer was requested
	all    chan struct{}     // closed when all layers were requested
	out    sync.WaitGroup    // layers that are still to be served, except the refused one
	early  []string          // marker files that existed when the last layer was requested
}

// newFetching makes the target and the images, each with one layer of its own.
func newFetching(t *testing.T, refused string) *fetching {
	if err := program.Confines(); err != nil {
		enginetest.Missing(t, "nothing here confines a process: %v", err)
	}
	f := &fetching{t: t, dir: t.TempDir(), refused: refused, asked: map[string]bool{}, all: make(chan struct{})}
	registry := regtest.Start(t, regtest.Options{}).Host
	proxy := httptest.NewServer(f.hold(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: registry})))
	t.Cleanup(proxy.Close)
	layers := map[string]string{}
	list := ""
	for i := range fetched {
		name := fmt.Sprintf("f%d", i)
		image := enginetest.Shell(t)
		mark := "#!/bin/sh\ntouch /marks/" + name + " && cat\n"
		image.Layers[0]["bin/mark"] = enginetest.File{Data: []byte(mark)}
		image.Config.Entrypoint = []string{"/bin/mark"}
		ref := enginetest.Push(t, registry+"/fns/"+name+":v1", image)
		layers[f.layer(ref)] = name
		f.write(name+".yaml", "apiVersion: example.com/v1\nkind: Fn\nmetadata: {name: "+name+"}\nruntime:\n  container:\n    image: "+strings.Replace(ref, registry, proxy.Listener.Addr().String(), 1)+
			"\n    mounts: [{type: bind, src: marks, dst: /marks, rw: true}]\n")
		list += "- " + name + ".yaml\n"
	}
	if len(layers) != fetched {
		t.Fatalf("%d images have %d layers", fetched, len(layers))
	}
	f.write("kustomization.yaml", "resources: [cm.yaml]\ntransformers:\n"+list)
	f.write("cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	marks := f.marks()
	if err := os.MkdirAll(marks, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(marks, 0o777); err != nil { // functions run as user nobody
		t.Fatal(err)
	}
	f.out.Add(fetched)
	if refused != "" {
		f.out.Done()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.layers = layers
	return f
}

func (f *fetching) marks() string { return filepath.Join(f.dir, "app", "marks") }

func (f *fetching) write(name, text string) {
	file := filepath.Join(f.dir, "app", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// layer returns the digest of the only layer of an image, which it reads from the registry.
func (f *fetching) layer(ref string) string {
	host, rest, _ := strings.Cut(ref, "/")
	name, digest, _ := strings.Cut(rest, "@")
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, "http://"+host+"/v2/"+name+"/manifests/"+digest, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	request.Header.Set("Accept", ocispec.MediaTypeImageManifest)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	var m ocispec.Manifest
	if err := json.NewDecoder(answer.Body).Decode(&m); err != nil || len(m.Layers) != 1 {
		f.t.Fatalf("%s: layers %v, %v", ref, m.Layers, err)
	}
	return m.Layers[0].Digest.String()
}

// hold is a middleware that serves no layer before every layer was requested.
func (f *fetching) hold(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		name := f.layers[path.Base(r.URL.Path)]
		f.mu.Unlock()
		if name == "" || r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		first := f.ask(name)
		select {
		case <-f.all:
		case <-r.Context().Done():
			return
		}
		if name == f.refused {
			f.out.Wait()
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
		if first {
			f.out.Done()
		}
	})
}

// ask records that the layer of an image was requested, and reports whether it is the first request
// for it. On the last first request it lists the functions that have run.
func (f *fetching) ask(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked[name] {
		return false
	}
	f.asked[name] = true
	if len(f.asked) == fetched {
		f.early = f.ran()
		close(f.all)
	}
	return true
}

// ran lists the functions that have created their marker file.
func (f *fetching) ran() []string {
	entries, err := os.ReadDir(f.marks())
	if err != nil {
		f.t.Error(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// render runs krmcat with an empty cache.
func (f *fetching) render() (string, error) {
	ctx, cancel := context.WithTimeout(f.t.Context(), stuckAfter)
	defer cancel()
	cmd := program.Command(ctx, f.t, "render", "app", "--enable-alpha-plugins", "--mount", "type=bind,src=marks,dst=/marks,rw=true")
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), "KRMCAT_CACHE_DIR="+filepath.Join(f.dir, "cache"), "HOME="+f.dir, "GOCOVERDIR="+f.dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
