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

// fetched is how many images a render needs that must all be fetched at once.
const fetched = 8

// stuckAfter is when a render is given up that never asks for all of its images.
const stuckAfter = 2 * time.Minute

// TestImagesAreFetchedAtOnce has the layers of all images asked for before any of them is
// handed out, and no function run until then.
func TestImagesAreFetchedAtOnce(t *testing.T) {
	t.Parallel()
	f := newFetching(t, "")
	if out, err := f.render(); err != nil {
		t.Fatalf("%v: %s: layers were asked for of %v", err, out, slices.Sorted(maps.Keys(f.asked)))
	}
	if len(f.early) > 0 {
		t.Errorf("before all images had been asked for there ran %v", f.early)
	}
	if ran := f.ran(); len(ran) != fetched {
		t.Errorf("there ran %v, want %d functions: this test sees nothing", ran, fetched)
	}
}

// TestNothingRunsWithoutAllImages refuses one layer when all others have been handed out:
// that of the function that runs last.
func TestNothingRunsWithoutAllImages(t *testing.T) {
	t.Parallel()
	last := fmt.Sprintf("f%d", fetched-1)
	f := newFetching(t, last)
	out, err := f.render()
	if err == nil || !strings.Contains(out, "/fns/"+last+"@") {
		t.Errorf("without one of its images: %v: %s", err, out)
	}
	if len(f.asked) != fetched {
		t.Errorf("layers were asked for of %v", slices.Sorted(maps.Keys(f.asked)))
	}
	if ran := f.ran(); len(ran) > 0 {
		t.Errorf("before all images were there, there ran %v", ran)
	}
}

// fetching is a target with a function for each of several images, which leave a mark when
// they run, and the registry that has the images.
type fetching struct {
	t   *testing.T
	dir string // the user's
	// refused is the image whose layer is not there when all others have been handed out, ""
	// for none.
	refused string

	mu     sync.Mutex
	layers map[string]string // the image of each layer, by digest; none while they are pushed
	asked  map[string]bool   // images whose layer was asked for
	all    chan struct{}     // closed when all were
	out    sync.WaitGroup    // layers that are still to be handed out, but the refused one
	early  []string          // marks that were there when the last was asked for
}

// newFetching makes the images, each with one layer of its own, and the target.
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
	if err := os.Chmod(marks, 0o777); err != nil { // a function is nobody
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

// layer asks the registry for the only layer of an image, given by digest.
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

// hold stands before the registry: nobody gets a layer before every layer was asked for.
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

// ask notes that the layer of an image was asked for, and tells whether it is the first
// time. The last of them looks what has run.
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

// ran lists the functions that have left their mark.
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

// render runs krmcat with nothing in its cache.
func (f *fetching) render() (string, error) {
	ctx, cancel := context.WithTimeout(f.t.Context(), stuckAfter)
	defer cancel()
	cmd := program.Command(ctx, f.t, "render", "app", "--enable-alpha-plugins", "--mount", "type=bind,src=marks,dst=/marks,rw=true")
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), "KRMCAT_CACHE_DIR="+filepath.Join(f.dir, "cache"), "HOME="+f.dir, "GOCOVERDIR="+f.dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
