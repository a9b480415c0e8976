package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/registry"
)

// many makes n files.
func many(n int) []member {
	var ms []member
	for i := range n {
		ms = append(ms, regular(fmt.Sprintf("f%d", i), ""))
	}
	return ms
}

// below makes n files in a directory.
func below(dir string, n int) []member {
	ms := many(n)
	for i := range ms {
		ms[i].Name = dir + "/" + ms[i].Name
	}
	return ms
}

// TestRefused checks the type and the text of the error for each refused image.
func TestRefusedLayers(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	var loop []member
	for i := range 300 {
		loop = append(loop, symlink(fmt.Sprintf("l%d", i), fmt.Sprintf("l%d", i+1)))
	}
	long := strings.Repeat("a/", 600)
	for name, tc := range map[string]struct {
		layer []member
		says  string
	}{
		"a name that leads out":                          {[]member{regular("../x", "")}, "leads out of its directory"},
		"a name with .. inside":                          {[]member{regular("a/../../x", "")}, "leads out of its directory"},
		"a hard link that leads out":                     {[]member{hardlink("x", "../../etc/passwd")}, "leads out of its directory"},
		"a hard link to a file outside":                  {[]member{hardlink("x", "/etc/passwd")}, "does not exist"},
		"a hard link through a link":                     {[]member{symlink("out", "/../../etc"), hardlink("x", "out/passwd")}, "does not exist"},
		"a hard link to a directory":                     {[]member{directory("d"), hardlink("x", "d")}, "link to a directory"},
		"a hard link to the root":                        {[]member{hardlink("x", "/")}, "link to the root"},
		"a hard link in place of its target's directory": {[]member{regular("d/a", "x"), hardlink("d", "d/a")}, ""},
		"a path through a file":                          {[]member{regular("a", ""), regular("a/b", "")}, "is a file"},
		"a circle of links":                              {[]member{symlink("a", "b"), symlink("b", "a"), regular("a/x", "")}, "more than 255 links"},
		"a chain of links":                               {append(loop, regular("l0/x", "")), "more than 255 links"},
		"a long chain of steps":                          {[]member{symlink("s", strings.Repeat("./../", 500)+strings.Repeat("a/../", 90)), directory("a"), symlink("t", "s/"+strings.Repeat("s/", 254)), regular("t/x", "")}, "more than"},
		"a chain of links of many ./":                    {[]member{symlink("a", strings.Repeat("./", 1480)+"b"), symlink("b", strings.Repeat("/.", 1480)+"/c"), symlink("c", strings.Repeat("./", 1480)+"d"), regular("a/x", "")}, "more than 4096 parts"},
		"a link to nothing":                              {[]member{symlink("a", "")}, "leads nowhere"},
		"a device":                                       {[]member{linkTo(tar.TypeChar, "etc/null", "")}, "devices and pipes are refused"},
		"a block device":                                 {[]member{linkTo(tar.TypeBlock, "sda", "")}, "devices and pipes are refused"},
		"a pipe":                                         {[]member{linkTo(tar.TypeFifo, "deviant/p", "")}, "devices and pipes are refused"},
		"a device behind a link called dev":              {[]member{symlink("dev", "etc"), linkTo(tar.TypeChar, "dev/null", "")}, "devices and pipes are refused"},
		"a root that is a file":                          {[]member{regular(".", "")}, "the root is a directory"},
		"a whiteout of the parent":                       {[]member{regular("a/.wh...", "")}, "not a valid whiteout"},
		"a whiteout of nothing":                          {[]member{regular("a/.wh.", "")}, "not a valid whiteout"},
		"a path of whiteouts":                            {[]member{regular(".wh.a/b", "")}, "not a valid whiteout"},
		"a long name":                                    {[]member{regular(strings.Repeat("x", 256), "")}, "longer than 255 bytes"},
		"a long name in a link":                          {[]member{symlink("l", strings.Repeat("x", 256)), regular("l/x", "")}, "longer than 255 bytes"},
		"too deep":                                       {[]member{regular(long+"x", "")}, "more than 100 directories above"},
		"a long path":                                    {[]member{regular(strings.Repeat(strings.Repeat("x", 200)+"/", 20)+"x", "")}, "bytes of one path"},
		"a long path by links":                           {[]member{directory(strings.Repeat("a/", 99)), symlink("l", strings.Repeat("a/", 99)), regular("l/b/c/d", "")}, "more than 100 directories above"},
		"a sparse file":                                  {nil, "bytes of files with holes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := pack(t, tc.layer...)
			if tc.layer == nil {
				data = holes(t)
			}
			_, err := unpackLayers(t, bounds{}, zip(t, data))
			if !isA[*Error](err) && !isA[*LimitError](err) && tc.says != "" || err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%T %v", err, err)
			}
		})
	}
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// holes is a sparse file of a terabyte that takes a kilobyte.
func holes(t *testing.T) []byte {
	t.Helper()
	data := pack(t, member{tar.Header{Name: "x", Typeflag: tar.TypeReg, Format: tar.FormatPAX, PAXRecords: map[string]string{"KRMCAT.x": strings.Repeat("p", 300)}}, ""})
	old := []byte("KRMCAT.x=" + strings.Repeat("p", 300) + "\n")
	records := ""
	for _, r := range []string{"GNU.sparse.major=0", "GNU.sparse.minor=1", "GNU.sparse.size=1099511627776", "GNU.sparse.numblocks=0", "GNU.sparse.map="} {
		n := len(r) + 4
		records += fmt.Sprintf("%d %s\n", n, r)
	}
	at := bytes.Index(data, old) - len("104 ")
	pad := at + len("104 ") + len(old)
	room := pad - at - len(records)
	records += fmt.Sprintf("%d x=%s\n", room, strings.Repeat("p", room-len(fmt.Sprint(room))-4))
	return append(append(append([]byte{}, data[:at]...), records...), data[pad:]...)
}

// TestNothingOutside checks that only the image's own root is changed, whatever a layer contains.
func TestNothingOutside(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "victim"), []byte("whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	up := strings.Repeat("../", 30) + strings.TrimPrefix(outside, "/")
	for _, to := range []string{outside, up, outside + "/victim"} {
		got, err := unpackLayers(t, bounds{},
			zip(t, pack(t, symlink("l", to), symlink("m", "l"))),
			zip(t, pack(t, regular("m/victim", "hacked"), regular("m/new", "hacked"), symlink("m/x", "y"), directory("m/d"))),
			zip(t, pack(t, regular("l/.wh.victim", ""), regular("m/.wh..wh..opq", ""))),
			zip(t, pack(t, directory("m"), regular("l", "hacked"))))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := listing(t, got.root)[strings.TrimPrefix(outside, "/")]; !ok {
			t.Error("the link was not followed inside the image")
		}
	}
	entries, err := os.ReadDir(outside)
	data, readErr := os.ReadFile(filepath.Join(outside, "victim"))
	if err != nil || readErr != nil || len(entries) != 1 || string(data) != "whole" {
		t.Errorf("outside there is %v, %q", entries, data)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	zeros := zip(t, pack(t, regular("zeros", strings.Repeat("\x00", 4<<20))))
	files := zip(t, pack(t, many(50)...))
	for name, tc := range map[string]struct {
		limits bounds
		layers [][]byte
		says   string
	}{
		"bytes":                 {bounds{bytes: 1 << 20}, [][]byte{zeros}, "more than 1048576 bytes unpacked"},
		"bytes of all layers":   {bounds{bytes: 6 << 20}, [][]byte{zeros, zeros}, "more than 6291456 bytes unpacked"},
		"a decompression bomb":  {bounds{ratioFrom: 1 << 20}, [][]byte{zeros}, "more than 200 bytes unpacked from each byte"},
		"entries":               {bounds{entries: 49}, [][]byte{files}, "more than 49 entries"},
		"entries of all layers": {bounds{entries: 99}, [][]byte{files, files}, "more than 99 entries"},
		"implied entries":       {bounds{entries: 20}, [][]byte{pack(t, regular(strings.Repeat("a/", 30)+"x", ""))}, "more than 20 entries"},
		"names":                 {bounds{names: 100}, [][]byte{files}, "more than 100 bytes of names"},
		"names by links":        {bounds{names: 600}, [][]byte{pack(t, symlink("l", strings.Repeat("x", 200)), hardlink("m", "l"), hardlink("n", "l"))}, "more than 600 bytes of names"},
		"parts of paths":        {bounds{steps: 1000}, [][]byte{pack(t, append([]member{directory("d"), symlink("l", strings.Repeat("./", 100)+"d")}, below("l", 20)...)...)}, "more than 1000 parts of paths to follow"},
		"layers":                {bounds{layers: 2}, [][]byte{files, files, files}, "more than 2 layers"},
		"config":                {bounds{config: 10}, [][]byte{files}, "more than 10 bytes of config"},
		"within all limits":     {bounds{bytes: 9 << 20, entries: 102, names: 1000, layers: 4, ratioFrom: 16 << 20}, [][]byte{zeros, files, files, zeros}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := unpackLayers(t, tc.limits, tc.layers...)
			switch {
			case tc.says == "" && err != nil:
				t.Error(err)
			case tc.says != "" && (!isA[*LimitError](err) || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("%T %v", err, err)
			}
		})
	}
}

// TestDamaged has bytes with the right digest that are not a layer.
func TestDamaged(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	archive := pack(t, regular("a", strings.Repeat("x", 100<<10)))
	zipped := zip(t, archive)
	for name, tc := range map[string]struct {
		layer []byte
		says  string
	}{
		"not an archive":               {[]byte(strings.Repeat("hello ", 1000)), "not a tar archive"},
		"a truncated archive":          {archive[:50<<10], "unexpected EOF"},
		"a truncated gzip":             {zipped[:len(zipped)-10], "unexpected EOF"},
		"an empty gzip":                {zipped[:5], "unexpected EOF"},
		"a gzip with a wrong checksum": {append(bytes.Clone(zipped[:len(zipped)-8]), make([]byte, 8)...), "invalid checksum"},
		"data after a gzip":            {append(bytes.Clone(zipped), "hello"...), "does not unpack"},
		"data after the archive":       {zip(t, append(bytes.Clone(archive), "hello"...)), "follows the end"},
		"a second archive":             {zip(t, append(bytes.Clone(archive), archive...)), "follows the end"},
		"not zstd":                     {append([]byte{0x28, 0xb5, 0x2f, 0xfd}, "hello"...), "does not unpack"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := unpackLayers(t, bounds{}, tc.layer)
			if !isA[*Error](err) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%T %v", err, err)
			}
		})
	}
}

func TestCompressions(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	archive := pack(t, regular("a", strings.Repeat("some text ", 100<<10)))
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	frames := z.EncodeAll(archive[1000:], z.EncodeAll(archive[:1000], []byte{0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 'h', 'i'}))
	var members bytes.Buffer
	for _, part := range [][]byte{archive[:700], archive[700:]} {
		w := gzip.NewWriter(&members)
		_, _ = w.Write(part)
		_ = w.Close()
	}
	for name, layer := range map[string][]byte{
		"none": archive, "gzip": zip(t, archive), "zstd": z.EncodeAll(archive, nil), "frames": frames, "members": members.Bytes(),
		"padded": zip(t, append(bytes.Clone(archive), make([]byte, 20<<10)...)),
	} {
		got, err := unpackLayers(t, bounds{}, layer)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		info, err := os.Stat(filepath.Join(got.root, "a"))
		if err != nil || info.Size() != 1000<<10 || !info.ModTime().Equal(time.Unix(1e9, 0)) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// TestOtherBytes checks that a wrong digest is distinguished from a damaged layer.
func TestOtherBytes(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	layer := pack(t, regular("x", strings.Repeat("abc", 100<<10)))
	for name, how := range map[string]regtest.Middleware{"tampered": regtest.Tamper(), "shortened": regtest.Shorten(), "truncated": regtest.Truncate()} {
		for kind, l := range map[string][]byte{"plain": layer, "gzip": zip(t, layer)} {
			for n := range 3 { // streamed, and fetched ahead
				layers := [][]byte{zip(t, pack(t, many(n+1)...)), zip(t, pack(t, many(n+2)...))}
				layers = append(layers[:n:n], l)
				f := regtest.Serve(t)
				a := publish(t, f, "", layers...)
				p := regtest.On(a.Files[n].Digest.Encoded(), how)
				g := regtest.Serve(t, p)
				a = publish(t, g, "", layers...)
				s := newStore(cacheDir(t), bounds{})
				_, err := s.get(t.Context(), a)
				if !isA[*registry.DigestError](err) {
					t.Errorf("%s %s, layer %d: %T %v", name, kind, n, err, err)
				}
				clean(t, s, false)
			}
		}
	}
}

func TestRefusedImages(t *testing.T) {
	t.Parallel()
	for config, says := range map[string]string{
		`{"os":"linux","rootfs":{"diff_ids":[]}}`: "its config tells of 0 layers",
		`[]`: "not JSON of the right shape",
		`{"os":"linux","rootfs":{"diff_ids":["x"]},"config":{"Env":["A=\u0000"]}}`:         "zero byte",
		`{"os":"linux","rootfs":{"diff_ids":["x"]},"config":{"Entrypoint":"sh -c hello"}}`: "not JSON of the right shape",
	} {
		f := regtest.Serve(t)
		a := publish(t, f, config, pack(t, regular("a", "")))
		_, err := newStore(cacheDir(t), bounds{}).get(t.Context(), a)
		if !isA[*Error](err) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %T %v", config, err, err)
		}
		if n := f.Count("GET", a.Files[0].Digest.Encoded()); n != 0 {
			t.Errorf("%s: the layer was fetched", config)
		}
	}
	f := regtest.Serve(t)
	a := publish(t, f, `{"os":"windows","architecture":"amd64","rootfs":{"diff_ids":["x"]}}`, pack(t))
	_, err := newStore(cacheDir(t), bounds{}).get(t.Context(), a)
	if !isA[*UnfitError](err) || !strings.Contains(err.Error(), "it is for windows/amd64, and this machine runs linux/"+runtime.GOARCH) {
		t.Error(err)
	}
	a = publish(t, f, "", pack(t))
	a.Files[0].MediaType = "application/vnd.in-toto+json"
	if _, err := newStore(cacheDir(t), bounds{}).get(t.Context(), a); !isA[*Error](err) || !strings.Contains(err.Error(), "holds no files") {
		t.Error(err)
	}
	if _, err := newStore(cacheDir(t), bounds{}).get(t.Context(), registry.Artifact{}); !isA[*Error](err) {
		t.Error(err)
	}
	if _, err := newStore("", bounds{}).get(t.Context(), a); !isA[*NoCacheError](err) {
		t.Errorf("unpacked into nowhere: %v", err)
	}
}
