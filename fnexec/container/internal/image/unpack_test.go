package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

// member is an entry of a layer.
type member struct {
	tar.Header
	body string
}

func regular(name, body string) member {
	return member{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(body)), ModTime: time.Unix(1e9, 0)}, body}
}

func directory(name string) member {
	return member{Header: tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o700, ModTime: time.Unix(1e9, 0)}}
}

func linkTo(kind byte, name, to string) member {
	return member{Header: tar.Header{Name: name, Typeflag: kind, Linkname: to}}
}

func symlink(name, to string) member  { return linkTo(tar.TypeSymlink, name, to) }
func hardlink(name, to string) member { return linkTo(tar.TypeLink, name, to) }

// pack makes a tar archive.
func pack(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		if err := w.WriteHeader(&m.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zip(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// publish pushes an image to a registry, and resolves it.
func publish(t testing.TB, f *regtest.Fake, config string, layers ...[]byte) registry.Artifact {
	t.Helper()
	var diffs []string
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Layers: []ocispec.Descriptor{}}
	m.SchemaVersion = 2
	for _, l := range layers {
		diffs = append(diffs, diffOf(l))
		m.Layers = append(m.Layers, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageLayerGzip, Digest: f.Blob(l), Size: int64(len(l))})
	}
	if config == "" {
		config = `{"os":"linux","config":{"Cmd":["run"]},"rootfs":{"type":"layers","diff_ids":["x"]}}`
	}
	ids, err := json.Marshal(diffs)
	if err != nil {
		t.Fatal(err)
	}
	config = strings.Replace(config, `["x"]`, string(ids), 1)
	m.Config = ocispec.Descriptor{MediaType: ocispec.MediaTypeImageConfig, Digest: f.Blob([]byte(config)), Size: int64(len(config))}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	d := f.Manifest(m.MediaType, data)
	return resolveImage(t, f.Host, d, t.TempDir())
}

// diffOf returns the digest of a layer's uncompressed bytes, up to an error.
func diffOf(layer []byte) string {
	sum := digest.SHA256.Digester()
	if r, done, err := decompress(bufio.NewReader(bytes.NewReader(layer))); err == nil {
		_, _ = io.Copy(sum.Hash(), r)
		done()
	}
	return sum.Digest().String()
}

func resolveImage(t testing.TB, host string, d digest.Digest, cache string) registry.Artifact {
	t.Helper()
	c, err := registry.New(registry.Options{CacheDir: cache, Retry: registry.Retry{Max: -1}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := reference.Parse("oci://" + host + "/image@" + d.String())
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Resolve(t.Context(), l, registry.Want{Role: mediatypes.RoleContainer})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// listing lists what is below a directory: kind, mode, and content or text.
func listing(t testing.TB, root string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := walkRoot(root, func(path string, info fs.FileInfo) error {
		full := filepath.Join(root, path)
		switch kindByMode(info.Mode()) {
		case kindDir:
			if info.Mode().Perm() != 0o755 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			if path != "." {
				got[path] = "/"
			}
		case kindFile:
			data, err := os.ReadFile(full)
			if err != nil {
				return err
			}
			got[path] = fmt.Sprintf("%o %s", info.Mode(), data)
		case kindLink:
			text, err := os.Readlink(full)
			if err != nil {
				return err
			}
			got[path] = "-> " + text
		default:
			t.Errorf("%s is %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// unpackLayers unpacks an image of these layers into a new store.
func unpackLayers(t testing.TB, limits bounds, layers ...[]byte) (image, error) {
	t.Helper()
	s := newStore(cacheDir(t), limits)
	got, err := s.get(t.Context(), publish(t, regtest.Serve(t), "", layers...))
	clean(t, s, err == nil)
	return got, err
}

// cacheDir returns the path of a directory that the store makes. A directory of the test's own
// may be writable by the group.
func cacheDir(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "cache")
}

// clean fails the test if a store contains anything unexpected.
func clean(t testing.TB, s *Store, whole bool) {
	t.Helper()
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), lockSuffix) && (!whole || strings.HasPrefix(e.Name(), tempImage)) {
			t.Errorf("%s was left behind", e.Name())
		}
		if strings.HasPrefix(e.Name(), tempImage) {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

// unixOnly skips what needs a file system of Unix.
func unixOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("images are not unpacked on Windows")
	}
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	program := regular("bin/program", "#!")
	program.Mode = 0o4711
	for name, tc := range map[string]struct {
		layers [][]member
		want   map[string]string
	}{
		"nothing": {want: map[string]string{}},
		"modes": {
			layers: [][]member{{directory("./"), directory("./bin/"), program, regular("etc/secret", "x")}},
			want:   map[string]string{"bin": "/", "bin/program": "755 #!", "etc": "/", "etc/secret": "644 x"},
		},
		"absolute names": {
			layers: [][]member{{regular("/etc/passwd", "x"), regular("//a", "y")}},
			want:   map[string]string{"etc": "/", "etc/passwd": "644 x", "a": "644 y"},
		},
		"a whiteout": {
			layers: [][]member{
				{regular("a/x", "1"), regular("a/y", "1"), regular("d/e/f", "1")},
				{regular("a/.wh.x", ""), regular(".wh.d", ""), regular(".wh.none", ""), regular("none/.wh.none", "")},
			},
			want: map[string]string{"a": "/", "a/y": "644 1"},
		},
		"a whiteout is not for its own layer": {
			layers: [][]member{
				{regular("a/x", "1"), regular("d/old", "1"), regular("b", "1")},
				{regular("a/x", "2"), regular("a/.wh.x", ""), regular("d/new", "2"), regular(".wh.d", ""), regular(".wh.b", ""), regular("b", "2")},
			},
			want: map[string]string{"a": "/", "a/x": "644 2", "d": "/", "d/new": "644 2", "b": "644 2"},
		},
		"an opaque whiteout": {
			layers: [][]member{
				{regular("a/x", "1"), regular("a/d/y", "1"), symlink("a/l", "x")},
				{regular("a/before", "2"), regular("a/.wh..wh..opq", ""), regular("a/d/after", "2")},
			},
			want: map[string]string{"a": "/", "a/before": "644 2", "a/d": "/", "a/d/after": "644 2"},
		},
		"files of AUFS": {
			layers: [][]member{{regular(".wh..wh.aufs", ""), regular(".wh..wh.plnk/1.2", "x"), regular("a", "1")}},
			want:   map[string]string{"a": "644 1"},
		},
		"a file in place of a directory": {
			layers: [][]member{{regular("a/b/c", "1")}, {regular("a", "2")}},
			want:   map[string]string{"a": "644 2"},
		},
		"a directory in place of a file": {
			layers: [][]member{{regular("a", "1")}, {directory("a"), regular("a/b", "2")}},
			want:   map[string]string{"a": "/", "a/b": "644 2"},
		},
		"a directory stays": {
			layers: [][]member{{regular("a/b", "1")}, {directory("a")}},
			want:   map[string]string{"a": "/", "a/b": "644 1"},
		},
		"a file in place of a link": {
			layers: [][]member{{regular("real", "1"), symlink("l", "real"), symlink("out", "/etc/passwd")}, {regular("l", "2"), regular("out", "2")}},
			want:   map[string]string{"real": "644 1", "l": "644 2", "out": "644 2"},
		},
		"a directory in place of a link": {
			layers: [][]member{{regular("real/a", "1"), symlink("l", "real")}, {directory("l"), regular("l/b", "2")}},
			want:   map[string]string{"real": "/", "real/a": "644 1", "l": "/", "l/b": "644 2"},
		},
		"through links inside": {
			layers: [][]member{
				{directory("usr/lib"), symlink("lib", "usr/lib"), symlink("abs", "/usr/lib"), symlink("up", "../../../usr"), symlink("usr/self", "..")},
				{regular("lib/a", "1"), regular("abs/b", "1"), regular("up/c", "1"), regular("usr/self/d", "1")},
			},
			want: map[string]string{
				"usr": "/", "usr/lib": "/", "lib": "-> usr/lib", "abs": "-> /usr/lib", "up": "-> ../../../usr", "usr/self": "-> ..",
				"usr/lib/a": "644 1", "usr/lib/b": "644 1", "usr/c": "644 1", "d": "644 1",
			},
		},
		"through a link to nothing": {
			layers: [][]member{{symlink("lib", "usr/lib"), regular("lib/a", "1")}},
			want:   map[string]string{"lib": "-> usr/lib", "usr": "/", "usr/lib": "/", "usr/lib/a": "644 1"},
		},
		"hard links": {
			layers: [][]member{
				{regular("a", "1"), directory("d"), hardlink("d/b", "a"), hardlink("d/self", "d/b"), hardlink("d/self", "d/self")},
				{hardlink("c", "/d/b"), symlink("l", "/a"), hardlink("m", "l"), regular(".wh.a", "")},
			},
			want: map[string]string{"d": "/", "d/b": "644 1", "d/self": "644 1", "c": "644 1", "l": "-> /a", "m": "-> /a"},
		},
		"a hard link is not written through": {
			layers: [][]member{{regular("a", "1"), hardlink("b", "a")}, {regular("b", "2")}},
			want:   map[string]string{"a": "644 1", "b": "644 2"},
		},
		"names that are not UTF-8": {
			layers: [][]member{{regular("d\xff/f\xfe", "1"), symlink("l\x80", "d\xff/f\xfe"), regular("gone\xff", "1")}, {regular("l\x80", "2"), regular(".wh.gone\xff", ""), regular("\ufffd", "3")}},
			want:   map[string]string{"d\xff": "/", "d\xff/f\xfe": "644 1", "l\x80": "644 2", "\ufffd": "644 3"},
		},
		"devices of its own": {
			layers: [][]member{{linkTo(tar.TypeChar, "dev/null", ""), linkTo(tar.TypeFifo, "dev/initctl", ""), linkTo(tar.TypeBlock, "dev/x/sda", "")}},
			want:   map[string]string{"dev": "/", "dev/x": "/"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var plain, zipped [][]byte
			for _, l := range tc.layers {
				plain = append(plain, pack(t, l...))
				zipped = append(zipped, zip(t, plain[len(plain)-1]))
			}
			for _, layers := range [][][]byte{plain, zipped} {
				got, err := unpackLayers(t, bounds{}, layers...)
				if err != nil && runtime.GOOS == "darwin" && name == "names that are not UTF-8" {
					continue // not on this file system
				}
				if err != nil {
					t.Fatal(err)
				}
				if entries, err := readIndex(filepath.Join(filepath.Dir(got.root), indexFile), digest.Digest("sha256:"+filepath.Base(filepath.Dir(got.root)))); err != nil {
					t.Errorf("its index: %v", err)
				} else if odd, err := touched(t.Context(), got.root, entries); err != nil || odd != "" {
					t.Errorf("it is not what was unpacked: %s, %v", odd, err)
				}
				if diff := cmp.Diff(tc.want, listing(t, got.root)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}
