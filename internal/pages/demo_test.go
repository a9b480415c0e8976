package pages

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	// The import is not used. It makes the cached result of this test depend on krmcat's code,
	// which the test only runs as a program.
	_ "github.com/krmcat/krmcat/internal/cli"
	"github.com/krmcat/krmcat/internal/testmain"
)

const goldenPage = "testdata/demo/demo.golden"

// built builds the program as the Makefile does, once, when a test needs it.
var built = sync.OnceValues(func() (string, error) {
	krmcat := filepath.Join(programs, "krmcat")
	if runtime.GOOS == "windows" {
		krmcat += ".exe"
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false",
		"-tags", "kustomize_disable_go_plugin_support,urfave_cli_no_docs", "-ldflags", "-s -w", "-o", krmcat, ".")
	cmd.Dir, cmd.Env = top, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return krmcat, fmt.Errorf("building krmcat: %w\n%s", err, out)
	}
	return krmcat, nil
})

// programs is the directory of built, set by TestMain.
var programs string

func TestMain(m *testing.M) {
	if err := testmain.InDir("krmcat-pages-", func(dir string) error {
		programs = dir
		if m.Run() != 0 {
			return errors.New("tests failed")
		}
		return nil
	}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// build returns the path of the program.
func build(t *testing.T) string {
	t.Helper()
	krmcat, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return krmcat
}

// transcript returns the output of the demo, with its digests and its directory replaced.
func transcript(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the demo is a shell script")
	}
	dir, krmcat := t.TempDir(), build(t)
	work, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	work = filepath.Join(work, "demo")
	demo := exec.CommandContext(t.Context(), "sh", filepath.Join("testdata", "demo", "run.sh"))
	demo.Dir = top
	demo.Env = append(os.Environ(), "KRMCAT="+krmcat, "DEMO="+work, "KRMCAT_CACHE_DIR="+filepath.Join(dir, "cache"))
	var out bytes.Buffer
	demo.Stdout, demo.Stderr = &out, &out
	if err := demo.Run(); err != nil {
		t.Fatalf("the demo: %v\n%s", err, out.String())
	}
	text := strings.ReplaceAll(out.String(), filepath.ToSlash(work), "/demo")
	text = strings.ReplaceAll(text, runtime.GOOS+"/"+runtime.GOARCH, "linux/amd64")
	if runtime.GOOS != "linux" { // only there programs are confined
		text = strings.ReplaceAll(text, "not confined", "read this machine's programs and the target")
	}
	return regexp.MustCompile(`sha256:([0-9a-f]{64}|[0-9a-f]{12}…)`).ReplaceAllString(text, "sha256:…")
}

func TestDemo(t *testing.T) {
	t.Parallel()
	got := transcript(t)
	file := filepath.Join(top, filepath.FromSlash(goldenPage))
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(page(t, goldenPage), got); diff != "" {
		t.Errorf("the output of the demo has changed (UPDATE_GOLDEN=1 updates the file):\n%s", diff)
	}
}

// TestReadmeNamesTargetsOfTheMakefile checks that the targets of make that the README names exist.
func TestReadmeNamesTargetsOfTheMakefile(t *testing.T) {
	t.Parallel()
	makefile := "\n" + page(t, "Makefile")
	for _, name := range []string{"README.md", "CONTRIBUTING.md"} {
		for _, m := range regexp.MustCompile("`make ([a-z-]+)").FindAllStringSubmatch(page(t, name), -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: there is no `make %s`", name, m[1])
			}
		}
	}
}

// Every command and flag in the table of docs/commands.md is in the help, every command of the
// help is in the table, and the exit codes are those of the help.
func TestCommandsPageNamesCommandsOfTheProgram(t *testing.T) {
	t.Parallel()
	krmcat, table := build(t), page(t, "docs/commands.md")
	help := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), krmcat, append(args, "--help")...).CombinedOutput()
		if err != nil {
			t.Fatalf("krmcat %s --help: %v\n%s", args, err, out)
		}
		return string(out)
	}
	general := help()
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `krmcat ([a-z ]*[a-z])[^|]*\\|[^|]*\\|(.*)\\|$").FindAllStringSubmatch(table, -1) {
		words := strings.Fields(m[1])
		named[words[0]] = true
		text := help(words...)
		for _, flag := range regexp.MustCompile("`(--[a-z-]+)").FindAllStringSubmatch(m[2], -1) {
			if !strings.Contains(text, flag[1]+" ") && !strings.Contains(text, flag[1]+",") {
				t.Errorf("krmcat %s has no flag %s", m[1], flag[1])
			}
		}
	}
	for _, command := range commandsOf(t, krmcat, nil) {
		if !named[command[0]] {
			t.Errorf("docs/commands.md does not name krmcat %s", command[0])
		}
	}
	flat := strings.Join(strings.Fields(general), " ")
	for _, m := range regexp.MustCompile(`(?m)^\| ([0-9]+) \| ([a-z ]+[a-z])`).FindAllStringSubmatch(table, -1) {
		if !strings.Contains(flat, m[1]+" "+m[2]) {
			t.Errorf("the help does not contain: %s %s", m[1], m[2])
		}
	}
}
