package exec_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/exec"
	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

var linux = fnexec.Site{Dir: "/catalogs", Platform: "linux/amd64"}

func TestShapes(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("ab", 32)
	for spec, want := range map[string]string{
		`{platforms: [{bin: fn, os: darwin, arch: arm64, uri: 'https://example.com/d'}, {bin: fn, os: linux, arch: amd64, uri: 'https://example.com/l', sha256: ` + sum + `}]}`: "https://example.com/l",
		`[{path: bin/fn, sha256: 'sha256:` + sum + `'}]`:                                  "/catalogs/bin/fn",
		`{path: ../fn, sha256: ` + sum + `, args: [a], envs: ['A=b']}`:                    "/fn",
		`{uri: 'oci://example.com/fn:v1', requireNetwork: true, requireFilesystem: true}`: "oci://example.com/fn:v1",
		`oci://example.com/fn:v1`:                                                         "oci://example.com/fn:v1",
		`{oci: 'oci-layout://dir:v1'}`:                                                    "oci-layout:///catalogs/dir:v1",
	} {
		p, err := exec.New(exec.Options{}).Prepare(node(t, spec), linux)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		n := p.Needs
		if got := n.From.String(); got != want {
			t.Errorf("%s: got %s, want %s", spec, got, want)
		}
		if n.Use != verify.UseProgram || n.InPlace || !n.Request.HostExec || n.Want.Platform != "linux/amd64" || n.Want.Role != mediatypes.RoleExec {
			t.Errorf("%s: got %+v", spec, n)
		}
		if strings.Contains(spec, sum) != (n.Promised == digest.Digest("sha256:"+sum)) {
			t.Errorf("%s: promised %q", spec, n.Promised)
		}
		if strings.Contains(spec, "require") != (n.Request.Network && n.Request.StorageMount) {
			t.Errorf("%s: got the request %+v", spec, n.Request)
		}
	}
}

func TestRefusedSpecs(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"{platform: []}":                      "line 1: exec: unknown field \"platform\", did you mean \"platforms\"?",
		"{platforms: []}":                     "names no program",
		"{platforms: {}}":                     "must be a list",
		"{}":                                  "neither uri nor path",
		"[]":                                  "names no program",
		"null":                                "names no program",
		"{path: a, uri: b}":                   "more than one place",
		"{path: a, platforms: [{path: b}]}":   "cannot stand beside",
		"{platforms: [{uri: a, oss: linux}]}": "exec.platforms[0]: unknown field \"oss\", did you mean \"os\"?",
		"{platforms: [{uri: a, os: linux}]}":  "together",
		"{path: a, sha256: 12}":               "not a sha256",
		"{path: a, bin: ../../x}":             "not a name inside an archive",
		"{path: a, envs: [SECRET]}":           "cannot copy the variable",
		"{path: a, requireNetwork: maybe}":    "true or false",
		"{path: a, args: [[x]]}":              "must be a string",
		"{path: a, path: b}":                  "given twice",
		"{uri: 'oci://example.com/UPPER'}":    "exec",
	} {
		_, err := exec.New(exec.Options{}).Prepare(node(t, spec), linux)
		var se *fnexec.SpecError
		if !errors.As(err, &se) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want a SpecError with %q", spec, err, want)
		}
	}
}

func TestRemoteCatalogNamesNothingHere(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"{path: fn}", "{path: /bin/sh}", "{uri: /bin/sh}", "{uri: 'file:///bin/sh'}", "{uri: 'oci-layout://x:v1'}", "oci-layout://x:v1", "./fn"} {
		_, err := exec.New(exec.Options{}).Prepare(node(t, spec), fnexec.Site{})
		if err == nil || !strings.Contains(err.Error(), "a place on this machine") {
			t.Errorf("%s: got %v", spec, err)
		}
	}
}

func TestPlatformNotOffered(t *testing.T) {
	t.Parallel()
	spec := "{platforms: [{os: linux, arch: amd64, uri: a}, {os: windows, arch: amd64, uri: b}]}"
	_, err := exec.New(exec.Options{}).Prepare(node(t, spec), fnexec.Site{Dir: "/", Platform: "plan9/mips"})
	var pe *exec.PlatformError
	if !errors.As(err, &pe) || err.Error() != "it is not offered for plan9/mips, only for linux/amd64, windows/amd64" {
		t.Errorf("got %v", err)
	}
}

func tarGz(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, link := range []string{"fn", "link"} {
		if err := w.WriteHeader(&tar.Header{Name: link, Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}); err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(body))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, body := range files {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = f.Write([]byte(body))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// program returns this test binary, which is a program on every system.
func program(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// fromCatalog loads bytes as a catalog's function that echoes.
func fromCatalog(t testing.TB, cache, bin string, promised digest.Digest, data []byte) (fnexec.Runner, error) {
	t.Helper()
	spec := "{bin: '" + bin + "', uri: 'https://example.com/fn', sha256: " + promised.Encoded() + ", args: [" + asFunction + ", echo]}"
	p, err := exec.New(exec.Options{CacheDir: cache}).Prepare(node(t, spec), fnexec.Site{Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return load(t, p, sandbox.Allow{}, data)
}

func TestProgramsAndArchives(t *testing.T) {
	t.Parallel()
	self := program(t)
	files := map[string]string{"docs/readme": "x", "pkg-1.0/tool.exe": string(self)}
	archived := tarGz(t, files)
	zippedToo := zipped(t, files)
	for name, c := range map[string]struct {
		data     []byte
		promised digest.Digest
	}{
		"plain":                  {self, digest.FromBytes(self)},
		"tar.gz, of the archive": {archived, digest.FromBytes(archived)},
		"tar.gz, of the program": {archived, digest.FromBytes(self)},
		"zip, of the archive":    {zippedToo, digest.FromBytes(zippedToo)},
		"zip, of the program":    {zippedToo, digest.FromBytes(self)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := t.TempDir()
			for range 2 {
				r, err := fromCatalog(t, cache, "tool.exe", c.promised, c.data)
				if err != nil {
					t.Fatal(err)
				}
				out, err := fnexec.Call(t.Context(), r, fnexec.Input{Items: nil, NeedsOutput: true})
				if err != nil || len(out.Items) != 0 {
					t.Fatalf("got %+v, %v", out, err)
				}
			}
			at := filepath.Join(cache, "exec", "sha256", digest.FromBytes(self).Encoded(), "tool.exe")
			if _, err := os.Stat(at); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMismatchIsRefused(t *testing.T) {
	t.Parallel()
	archived := tarGz(t, map[string]string{"tool": "x"})
	_, err := fromCatalog(t, t.TempDir(), "tool", digest.FromString("other"), archived)
	var ue *verify.UntrustedError
	if !errors.As(err, &ue) || len(ue.Reasons) != 2 {
		t.Errorf("got %v, want both digests", err)
	}
}

func TestChangedCacheIsMended(t *testing.T) {
	t.Parallel()
	self := program(t)
	sum := digest.FromBytes(self)
	cache := t.TempDir()
	at := filepath.Join(cache, "exec", "sha256", sum.Encoded(), "fn")
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := filetest.WriteProgram(at, []byte("#!/bin/sh\necho evil\n")); err != nil {
		t.Fatal(err)
	}
	r, err := fromCatalog(t, cache, "fn", sum, self)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fnexec.Call(t.Context(), r, fnexec.Input{NeedsOutput: true}); err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(at)
	if err != nil || digest.FromBytes(got) != sum {
		t.Error("a changed program is still in the cache")
	}
}

func TestRefusedArchives(t *testing.T) {
	t.Parallel()
	good := tarGz(t, map[string]string{"a/tool": "x", "b/tool": "y", "c": "z"})
	for name, c := range map[string]struct {
		bin, want string
		data      []byte
	}{
		"missing":           {"other", "holds no file other", good},
		"twice":             {"tool", "twice", good},
		"no name":           {"", "several files", good},
		"only a link":       {"link", "holds no file link", good},
		"truncated":         {"c", "archive", good[:len(good)/2]},
		"not a tar archive": {"c", "archive", gzipped(t, "hello")},
		"empty zip":         {"c", "holds no files", zipped(t, nil)},
		"broken zip":        {"c", "archive", append([]byte("PK\x03\x04"), 1, 2, 3)},
	} {
		_, err := fromCatalog(t, t.TempDir(), c.bin, digest.FromBytes(c.data), c.data)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func gzipped(t testing.TB, s string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write([]byte(s))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestZeroKeysOpenNothing(t *testing.T) {
	t.Parallel()
	for spec, at := range map[string]fnexec.Site{
		"path: tool":                 {Inline: true},
		"uri: https://example.com/x": {},
	} {
		p, err := exec.New(exec.Options{CacheDir: t.TempDir()}).Prepare(node(t, spec), at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Load(t.Context(), verify.Trusted{}, sandbox.Grant{}); !errors.Is(err, verify.ErrNotVerified) {
			t.Errorf("%s: got %v", spec, err)
		}
		trusted, err := verify.Verify(t.Context(), verify.Subject{Artifact: registry.Literal(p.Needs.From, mediatypes.RoleExec, "x", []byte("x"))}, verify.UserFlag{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Load(t.Context(), trusted, sandbox.Grant{}); !errors.Is(err, sandbox.ErrNotGranted) {
			t.Errorf("%s: got %v", spec, err)
		}
	}
}

func TestPin(t *testing.T) {
	t.Parallel()
	var asked []string
	resolve := func(_ context.Context, l reference.Locator, w registry.Want) (registry.Artifact, error) {
		asked = append(asked, l.String()+" "+w.Platform)
		return registry.Literal(l, w.Role, "fn", []byte(w.Platform)), nil
	}
	n := node(t, `platforms:
- {bin: fn, os: linux, arch: amd64, uri: 'oci://example.com/fn:v1'}
- {bin: fn, os: darwin, arch: arm64, uri: 'https://example.com/fn'}
- {bin: fn, os: windows, arch: amd64, path: win/fn.exe}
`)
	if err := exec.New(exec.Options{}).Pin(t.Context(), n, fnexec.Site{Dir: "/catalogs"}, resolve); err != nil {
		t.Fatal(err)
	}
	l, d, w := digest.FromString("linux/amd64"), digest.FromString("darwin/arm64"), digest.FromString("windows/amd64")
	want := `platforms:
- {bin: fn, os: linux, arch: amd64, uri: oci://example.com/fn:v1@` + l.String() + `, sha256: ` + l.Encoded() + `}
- {bin: fn, os: darwin, arch: arm64, uri: 'https://example.com/fn', sha256: ` + d.Encoded() + `}
- {bin: fn, os: windows, arch: amd64, path: win/fn.exe, sha256: ` + w.Encoded() + `}
`
	got, err := n.String()
	if err != nil || strings.ReplaceAll(got, "'", "") != strings.ReplaceAll(want, "'", "") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(asked) != 3 || asked[2] != "/catalogs/win/fn.exe windows/amd64" {
		t.Errorf("asked for %q", asked)
	}
	text := node(t, "oci://example.com/fn:v1")
	if err := exec.New(exec.Options{}).Pin(t.Context(), text, fnexec.Site{}, resolve); err != nil {
		t.Fatal(err)
	}
	if got := text.YNode().Value; !strings.HasPrefix(got, "oci://example.com/fn:v1@sha256:") {
		t.Errorf("got %s", got)
	}
	bad := node(t, "{uri: 'oci://example.com/fn', sha256: "+strings.Repeat("00", 32)+"}")
	if err := exec.New(exec.Options{}).Pin(t.Context(), bad, fnexec.Site{}, resolve); err == nil {
		t.Error("a sha256 that does not fit was accepted")
	}
}

func FuzzArchive(f *testing.F) {
	f.Add(tarGz(f, map[string]string{"a/tool": "x", "tool": "y"}), "tool")
	f.Add(zipped(f, map[string]string{"../tool": "x"}), "tool")
	f.Add(zipped(f, map[string]string{"a\\b": "x"}), "")
	f.Add([]byte("\x1f\x8b"), "x")
	f.Fuzz(func(t *testing.T, data []byte, bin string) {
		n := node(t, "uri: https://example.com/x\n")
		fnexec.NewSpec(n, "exec").Set("bin", bin)
		p, err := exec.New(exec.Options{}).Prepare(n, fnexec.Site{})
		if err != nil {
			return
		}
		_, _ = p.Needs.Inner(t.Context(), data)
	})
}

func FuzzPrepare(f *testing.F) {
	for _, s := range []string{"oci://a.b/c", "{platforms: [{bin: a, os: b, arch: c, uri: d}]}", "[{path: a, sha256: b}]", "{path: a, envs: [B=c]}", "&a [*a]"} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, s string, inline bool) {
		n, err := yaml.Parse(s)
		if err != nil {
			return
		}
		_, _ = exec.New(exec.Options{}).Prepare(n, fnexec.Site{Dir: "/x", Inline: inline, Platform: "linux/amd64"})
	})
}

// BenchmarkCall measures one process that copies an input of a thousand resources.
func BenchmarkCall(b *testing.B) {
	r := loadInPlace(b, copying, sandbox.Allow{})
	var items []*yaml.RNode
	for i := range 1000 {
		items = append(items, node(b, fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-%d\n"+
			"spec:\n  replicas: 3\n  template:\n    spec:\n      containers:\n      - name: main\n        image: example.com/app:1\n"+
			"        ports:\n        - containerPort: 80\n        resources:\n          limits:\n            memory: 64Mi\n", i)))
	}
	for b.Loop() {
		out, err := fnexec.Call(b.Context(), r, fnexec.Input{Items: items})
		if err != nil {
			b.Fatal(err)
		}
		items = out.Items
	}
}

// TestInPlaceHeld checks that the verified content of a program that runs in place is run, not
// what the file has when it is called, and that a bare name is not looked up again.
func TestInPlaceHeld(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	dir := t.TempDir()
	if err := filetest.WriteProgram(filepath.Join(dir, "fn"), []byte("#!/bin/sh\necho exchanged\n")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"./fn", "fn"} {
		p, err := exec.New(exec.Options{TempDir: t.TempDir()}).Prepare(node(t, "path: "+path+"\n"), fnexec.Site{Inline: true, Dir: dir, Work: dir})
		if err != nil {
			t.Fatal(err)
		}
		if (p.Needs.Look != nil) != (path == "fn") {
			t.Fatalf("%s: is it looked up? %v", path, p.Needs.Look != nil)
		}
		r, err := load(t, p, sandbox.Allow{Host: []string{"PATH=" + dir}}, []byte("#!/bin/sh\necho judged\n"))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := r.Run(t.Context(), strings.NewReader(""), &out, io.Discard); err != nil || out.String() != "judged\n" {
			t.Errorf("%s: %v, %q", path, err, &out)
		}
	}
}
