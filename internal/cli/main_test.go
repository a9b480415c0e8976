package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/internal/cli"
	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/verify/cosign"
	"github.com/krmcat/krmcat/verify/cosign/judge"
)

// call runs a command line in this process.
func call(ctx context.Context, t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Main(ctx, cli.Process{
		Args: append([]string{"krmcat"}, args...), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Dir: dir, Environ: []string{"HOME=" + dir, "KRMCAT_CACHE_DIR=" + filepath.Join(dir, "cache")},
	})
	return code, out.String(), errs.String()
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const plainCatalog = `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: c}
spec:
  krmFunctions:
  - group: example.com
    names: {kind: Fn}
    description: "up \e[2Jand away"
    versions:
    - {name: v1, runtime: {starlark: {path: fn.star}}}
`

// TestFlagsAnywhere tries a command line in all orders.
func TestFlagsAnywhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "catalog.yaml", plainCatalog)
	want := []string{"view", "catalog", file, "--format", "json"}
	code, first, errs := call(t.Context(), t, dir, want...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, args := range [][]string{
		{"view", "catalog", "--format", "json", file},
		{"view", "catalog", "--format=json", file},
		{"view", "catalog", file, "--format", "json", "--"},
		{"view", "catalog", "-format=yaml", "-format=json", "--", file},
		{"--verbose=false", "view", "catalog", file, "-v=false", "--format", "json"},
		{"view", "--verbose=false", "catalog", "--plain-http", "--format", "json", file},
	} {
		code, out, errs := call(t.Context(), t, dir, args...)
		if code != 0 || out != first {
			t.Errorf("%q: exit code %d: %s%s", args, code, errs, cmp.Diff(first, out))
		}
	}
}

// TestUsageErrors checks the form of usage errors. Their texts are in testdata/script/usage.txtar.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"view", "catalog", "x", "--outptu", "json"},
		{"--", "render"},
		{"view", "--", "catalog", "x"},
		{"view", "catalog", "x", "-o"},
		{"view", "catalog", "x", "--plain-http=perhaps"},
		{"--verbose=perhaps", "render"},
		{"render", "--timeout", "3"},
		{"completion"},
		{"pull", "oci://:"},
	} {
		code, out, errs := call(t.Context(), t, dir, args...)
		if code != 2 || out != "" || !strings.HasPrefix(errs, "Error: ") || !strings.Contains(errs, "\nTry: krmcat") {
			t.Errorf("%q: exit code %d\nstdout: %s\nstderr: %s", args, code, out, errs)
		}
	}
}

// TestErrorNamedLikeUsage checks that an error about a file whose name begins like a message of
// package flag is not a usage error.
func TestErrorNamedLikeUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"invalid value x", "invalid boolean value x", "could not parse x"} {
		code, _, errs := call(t.Context(), t, dir, "push", "oci-layout://store:v1", name+".star")
		if code != 6 || !strings.HasPrefix(errs, "Error: "+name) {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
	}
}

// TestInterrupted checks that the exit code of an interrupted command is 130.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrInterrupted)
	dir := t.TempDir()
	write(t, dir, "app/kustomization.yaml", "transformers:\n- |-\n  apiVersion: example.com/v1\n  kind: Fn\n")
	for form, want := range map[string]string{
		"text": "Error: interrupted\n",
		"json": `{"code":130,"kind":"interrupted","message":"interrupted"}` + "\n",
	} {
		code, out, errs := call(ctx, t, dir, "render", filepath.Join(dir, "app"),
			"--trusted-catalog", "oci://127.0.0.1:1/c:v1", "--error-format", form)
		if code != 130 || out != "" || errs != want {
			t.Errorf("%s: exit code %d\nstdout: %s\nstderr: %s", form, code, out, errs)
		}
	}
}

// TestTerminalSafety checks that text of a catalog cannot control the terminal.
func TestTerminalSafety(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "catalog.yaml", plainCatalog)
	for _, args := range [][]string{
		{"view", "catalog", file},
		{"view", "function", "example.com/Fn", "--catalog", file},
		{"view", "catalog", "oci-layout://\x1b[2J:x"},
		{"pull", file + "\x1b[2J"},
		{"\x1b[2J"},
	} {
		_, out, errs := call(t.Context(), t, dir, args...)
		if strings.ContainsRune(out+errs, '\x1b') {
			t.Errorf("%q: an escape came through: %q %q", args, out, errs)
		}
	}
}

// TestScreenSafety checks that text on stdout cannot control a terminal, and that programs get it
// unchanged.
func TestScreenSafety(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "catalog.yaml", strings.ReplaceAll(plainCatalog, "\\e", "\\x9b"))
	for _, args := range [][]string{
		{"view", "catalog", file, "--format", "go-template={{.}}"},
		{"view", "catalog", file, "--format", "json"},
		{"keygen", "-o", filepath.Join(dir, "\x9b31m")},
	} {
		for _, screen := range []bool{true, false} {
			var out, errs bytes.Buffer
			code := cli.Main(t.Context(), cli.Process{
				Args: append([]string{"krmcat"}, args...), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
				Environ: []string{"HOME=" + dir, "COSIGN_PASSWORD=x"}, Dir: dir, Executable: "krmcat", Screen: screen, Judge: judge.Dial,
			})
			safe := ui.CleanText(out.String()) == out.String()
			if code == 0 && safe != (screen || args[len(args)-1] == "json") || screen && !strings.Contains(out.String(), "9b") {
				t.Errorf("%q, screen %v: exit code %d, it prints %q\n%s", args, screen, code, out.String(), errs.String())
			}
		}
	}
}

// TestLastLineOnScreen checks that the output of a template on a terminal ends with a line feed, so
// that the prompt begins a new line. Programs get it unchanged.
func TestLastLineOnScreen(t *testing.T) {
	t.Parallel()
	for screen, want := range map[bool]string{true: "yes\n", false: "yes"} {
		for _, format := range []string{"go-template=yes", "go-template=yes{{\"\\n\"}}"} {
			var out, errs bytes.Buffer
			code := cli.Main(t.Context(), cli.Process{
				Args: []string{"krmcat", "version", "--format", format}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
				Dir: t.TempDir(), Executable: "krmcat", Screen: screen, Judge: judge.Dial,
			})
			if format != "go-template=yes" {
				want = "yes\n"
			}
			if code != 0 || out.String() != want {
				t.Errorf("%s, screen %v: exit code %d, it prints %q, want %q\n%s", format, screen, code, out.String(), want, &errs)
			}
		}
	}
}

// TestJudgeIsEnded checks that the process of the judge has ended when krmcat ends.
func TestJudgeIsEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	started, ended := 0, 0
	code := cli.Main(t.Context(), cli.Process{
		Args: []string{"krmcat", "keygen"}, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		Environ: []string{"HOME=" + dir, "COSIGN_PASSWORD=x"}, Dir: dir,
		Judge: func(ctx context.Context) (io.ReadWriteCloser, error) {
			started++
			line, err := judge.Dial(ctx)
			return closing{line, &ended}, err
		},
	})
	if code != 0 || started != 1 || ended != 1 {
		t.Errorf("exit code %d: %d were started and %d ended", code, started, ended)
	}
}

// closing counts how often something is closed.
type closing struct {
	io.ReadWriteCloser
	times *int
}

func (c closing) Close() error {
	*c.times++
	return c.ReadWriteCloser.Close()
}

// TestKeysAreKeptFromSignatures checks that the process that judges signatures gets no private key
// and no password, and that the one that signs judges nothing.
func TestKeysAreKeptFromSignatures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "catalog.yaml", "apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata: {name: c}\nspec: {krmFunctions: []}\n")
	ref := "oci-layout://" + filepath.ToSlash(dir) + "/store:v1"
	sign := []string{"sign", ref, "--key", "cosign.key", "--yes"}
	var lines []*spied
	for _, args := range [][]string{{"keygen"}, {"push", ref, filepath.Join(dir, "catalog.yaml")}, sign, sign} {
		var errs bytes.Buffer
		code := cli.Main(t.Context(), cli.Process{
			Args: append([]string{"krmcat"}, args...), Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &errs,
			Environ: []string{"HOME=" + dir, "COSIGN_PASSWORD=x"}, Dir: dir,
			Judge: func(ctx context.Context) (io.ReadWriteCloser, error) {
				line, err := judge.Dial(ctx)
				lines = append(lines, &spied{ReadWriteCloser: line})
				return lines[len(lines)-1], err
			},
		})
		if code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, errs.String())
		}
	}
	signs, judges := 0, 0
	for _, l := range lines {
		if l.secret && l.judges {
			t.Error("the key and signatures went to one process")
		}
		signs, judges = signs+count(l.secret), judges+count(l.judges)
	}
	if signs != 3 || judges != 2 {
		t.Errorf("%d made keys and signatures, %d judged them", signs, judges)
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// spied is a connection to a judge that records the requests.
type spied struct {
	io.ReadWriteCloser
	secret, judges bool
}

func (s *spied) Write(message []byte) (int, error) {
	var q cosign.Request
	const head = 4 // its length
	if err := json.Unmarshal(message[head:], &q); err != nil {
		return 0, err
	}
	s.secret = s.secret || len(q.Key)+len(q.Password) > 0
	s.judges = s.judges || q.Op == cosign.OpJudge
	return s.ReadWriteCloser.Write(message)
}

// TestAllRefusals checks that all errors are reported at once, with the exit code of the first kind
// in the order of the help.
func TestAllRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "app/kustomization.yaml", `catalogs: [c.yaml]
transformers:
- |-
  apiVersion: example.com/v1
  kind: Fn
  metadata:
    name: denied
    annotations:
      config.kubernetes.io/function: |
        exec: {path: ./fn}
- |-
  apiVersion: example.com/v1
  kind: Fn
  metadata:
    name: missing
    annotations:
      config.kubernetes.io/function: |
        starlark: {path: gone.star}
`)
	code, out, errs := call(t.Context(), t, dir, "render", filepath.Join(dir, "app"))
	if code != 5 || out != "" || strings.Count(errs, "Error: ") < 2 {
		t.Errorf("exit code %d\nstdout: %s\nstderr: %s", code, out, errs)
	}
	if !strings.Contains(errs, "gone.star was not found") || !strings.Contains(errs, "--enable-exec") {
		t.Errorf("stderr: %s", errs)
	}
}

// FuzzCommandLine checks that no command line crashes the parser or has a flag read as an argument.
func FuzzCommandLine(f *testing.F) {
	f.Add("view\x00catalog\x00x\x00-o\x00json")
	f.Add("completion\x00bash\x00--help")
	f.Add("view\x00--\x00-o=\x00--output")
	f.Add("-v\x00--=\x00-=x")
	f.Add("help\x00help\x00help")
	f.Add("version\x00--generate-bash-completion")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		for _, a := range args {
			if strings.HasPrefix(a, "pu") || strings.HasPrefix(a, "render") || strings.HasPrefix(a, "build") || a == "catalog" || a == "function" {
				return // these use the disk and the network
			}
		}
		code, _, errs := call(t.Context(), t, t.TempDir(), args...)
		if code != 0 && code != 2 || code == 0 && errs != "" {
			t.Errorf("%q: exit code %d: %s", args, code, errs)
		}
	})
}

// TestColours checks that verdicts have colours on a terminal with colours, and nowhere else.
func TestColours(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "catalog.yaml", plainCatalog)
	for name, c := range map[string]struct {
		screen  bool
		environ []string
		want    bool
	}{
		"terminal":    {true, []string{"TERM=xterm"}, true},
		"pipe":        {false, []string{"TERM=xterm"}, false},
		"NO_COLOR":    {true, []string{"TERM=xterm", "NO_COLOR=1"}, false},
		"no NO_COLOR": {true, []string{"TERM=xterm", "NO_COLOR="}, true},
		"dumb":        {true, []string{"TERM=dumb"}, false},
	} {
		var out, errs bytes.Buffer
		code := cli.Main(t.Context(), cli.Process{
			Args: []string{"krmcat", "verify", file}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
			Environ: append(c.environ, "HOME="+dir), Dir: dir, Executable: "krmcat", Screen: c.screen, Terminal: c.screen, Judge: judge.Dial,
		})
		if got := strings.Contains(errs.String(), "\x1b[31mError:\x1b[0m "); got != c.want || !c.want && strings.Contains(errs.String(), "\x1b[3") {
			t.Errorf("%s: stderr %q", name, &errs)
		}
		if got := strings.Contains(out.String(), "\x1b[31mNOT TRUSTED\x1b[0m\n"); got != c.want || code != 4 || !c.want && strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: exit code %d, %q\n%s", name, code, &out, &errs)
		}
	}
}

// TestDumbTerminal checks that progress is shown in one line of a terminal, and not on one that
// cannot overwrite lines.
func TestDumbTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "kustomization.yaml", "namePrefix: a-\n")
	for term, want := range map[string]bool{"xterm": true, "dumb": false} {
		var errs bytes.Buffer
		code := cli.Main(t.Context(), cli.Process{
			Args: []string{"krmcat", "render", dir}, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &errs,
			Environ: []string{"HOME=" + dir, "TERM=" + term}, Dir: dir, Executable: "krmcat", Terminal: true, Judge: judge.Dial,
		})
		if got := strings.Contains(errs.String(), "\r\x1b[K"); got != want {
			t.Errorf("%s: exit code %d, stderr %q", term, code, &errs)
		}
	}
}
