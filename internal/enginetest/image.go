package enginetest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is an image FROM scratch.
type Image struct {
	Layers []Layer
	Config v1.Config // entrypoint, environment, …
	Arch   string    // "" for the architecture of this machine
	OS     string    // "" for linux
}

// Layer holds the files of a layer, by their paths in the image.
type Layer map[string]File

// File is one file of a layer.
type File struct {
	Data []byte
	Mode int64  // 0 for 0o755
	Link string // target, if the file is a symbolic link
}

// Functions returns an image that has only the function of the suite. The first argument says how
// the function behaves.
func Functions(t testing.TB) Image {
	t.Helper()
	return Image{
		Layers: []Layer{{"function": {Data: Function(t)}}},
		Config: v1.Config{Entrypoint: []string{"/function"}},
	}
}

// Shell returns an image with a static shell, its commands, and the given layers.
func Shell(t testing.TB, more ...Layer) Image {
	t.Helper()
	box, err := busybox()
	if err != nil {
		Missing(t, "%v", err)
	}
	base := Layer{"bin/busybox": {Data: box}}
	for _, command := range []string{"sh", "cat", "env", "echo", "id", "ls", "sleep", "touch", "true", "wget"} {
		base["bin/"+command] = File{Link: "busybox"}
	}
	return Image{
		Layers: append([]Layer{base}, more...),
		Config: v1.Config{Entrypoint: []string{"/bin/sh", "-c"}, Env: []string{"PATH=/bin"}},
	}
}

// busybox returns the static busybox of this machine.
func busybox() ([]byte, error) {
	for _, at := range []string{"/bin/busybox", "/usr/bin/busybox"} {
		if data, err := os.ReadFile(at); err == nil {
			return data, nil
		}
	}
	return nil, errors.New("no static busybox found (Debian: busybox-static)")
}

// built is the program of Function, built once for a test binary.
//
//nolint:gochecknoglobals // building takes a second, and every test needs the same program
var built = sync.OnceValues(func() ([]byte, error) {
	_, here, _, _ := runtime.Caller(0)
	dir, err := os.MkdirTemp("", "krmcat-function-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "function")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-tags", "kustomize_disable_go_plugin_support",
		"-o", out, "./testdata/function")
	cmd.Dir = filepath.Dir(here)
	if !filepath.IsAbs(cmd.Dir) { // -trimpath removed the directory; a test runs in the directory of its package
		if cmd.Dir, err = found(); err != nil {
			return nil, err
		}
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
})

// found returns the directory of this package, which it looks for in the directories above.
func found() (string, error) {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		here := filepath.Join(dir, "internal", "enginetest")
		if _, err := os.Stat(filepath.Join(here, "testdata", "function")); err == nil {
			return here, nil
		}
		dir = filepath.Dir(dir)
	}
	return "", os.ErrNotExist
}

// Function returns the function of the suite as a static program for Linux.
func Function(t testing.TB) []byte {
	t.Helper()
	data, err := built()
	if err != nil {
		t.Fatalf("building the function: %v", err)
	}
	return data
}

// Push pushes an image to host/repository, and returns its reference with the digest.
func Push(t testing.TB, at string, i Image, o ...remote.Option) string {
	t.Helper()
	return push(t, at, i.build(t), remote.Write, o)
}

// PushIndex pushes an index of images, one for each architecture, and returns its reference
// with the digest.
func PushIndex(t testing.TB, at string, images ...Image) string {
	t.Helper()
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, i := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: i.build(t), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: i.arch()}},
		})
	}
	return push(t, at, index, remote.WriteIndex, nil)
}

func push[T interface{ Digest() (v1.Hash, error) }](t testing.TB, at string, what T, write func(name.Reference, T, ...remote.Option) error, o []remote.Option) string {
	t.Helper()
	ref, err := name.NewTag(at, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(ref, what, append(o, remote.WithContext(t.Context()))...); err != nil {
		t.Fatalf("pushing %s: %v", at, err)
	}
	d, err := what.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return ref.Context().Name() + "@" + d.String()
}

func (i Image) arch() string {
	if i.Arch == "" {
		return runtime.GOARCH
	}
	return i.Arch
}

func (i Image) build(t testing.TB) v1.Image {
	t.Helper()
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	img = mutate.ConfigMediaType(img, types.OCIConfigJSON)
	for _, l := range i.Layers {
		data := l.tar(t)
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
			tarball.WithMediaType(types.OCILayer))
		if err == nil {
			img, err = mutate.AppendLayers(img, layer)
		}
		if err != nil {
			t.Fatalf("building an image: %v", err)
		}
	}
	file, err := img.ConfigFile()
	if err == nil {
		file = file.DeepCopy()
		file.OS, file.Architecture, file.Config = cmp.Or(i.OS, "linux"), i.arch(), i.Config
		img, err = mutate.ConfigFile(img, file)
	}
	if err != nil {
		t.Fatalf("building an image: %v", err)
	}
	return img
}

// tar writes a layer, with the directories above its files.
func (l Layer) tar(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	made := map[string]bool{".": true}
	for _, at := range slices.Sorted(maps.Keys(l)) {
		f := l[at]
		var above []*tar.Header
		for dir := path.Dir(at); !made[dir]; dir = path.Dir(dir) {
			made[dir] = true
			above = append(above, &tar.Header{Name: dir + "/", Typeflag: tar.TypeDir, Mode: 0o755})
		}
		slices.Reverse(above)
		h := &tar.Header{Name: at, Typeflag: tar.TypeReg, Mode: f.Mode, Size: int64(len(f.Data))}
		if f.Mode == 0 {
			h.Mode = 0o755
		}
		if f.Link != "" {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, f.Link, 0
		}
		for _, h := range append(above, h) {
			if err := w.WriteHeader(h); err != nil {
				t.Fatalf("writing a layer: %v", err)
			}
		}
		if _, err := w.Write(f.Data); f.Link == "" && err != nil {
			t.Fatalf("writing a layer: %v", err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatalf("writing a layer: %v", err)
	}
	return b.Bytes()
}
