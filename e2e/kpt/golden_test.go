package kpt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/krmcat/krmcat/e2e/internal/program"
	"github.com/krmcat/krmcat/internal/filetest"
)

func TestMain(m *testing.M) {
	program.Main(m, map[string]func(){
		"fn": func() { os.Exit(function(os.Args[1:], os.Stdin, os.Stdout)) },
	})
}

// golden is a package, and what kpt made of it.
type golden struct {
	path    string
	comment []byte
	args    []string // of `kpt fn render`, beyond the usual ones
	noExec  bool     // without --allow-exec
	in      []txtar.File
	want    outcome
}

// outcome is what a render did.
type outcome struct {
	Exit    string
	Stdout  string
	Stderr  string
	Changed map[string]string // files by path; the value of a removed one is gone
	Results string
}

const gone = "(removed)\n"

// read reads an archive. A file in/X is part of the package, out/X is one that kpt wrote, and a file
// without a directory stands beside the package.
func read(t *testing.T, path string) golden {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g := golden{path: path, comment: a.Comment, want: outcome{Changed: map[string]string{}}}
	for line := range strings.SplitSeq(string(a.Comment), "\n") {
		if rest, ok := strings.CutPrefix(line, "args:"); ok {
			g.args = append(g.args, strings.Fields(rest)...)
		}
		g.noExec = g.noExec || line == "flags: no-allow-exec"
	}
	for _, f := range a.Files {
		switch {
		case f.Name == "kpt/exit":
			g.want.Exit = string(f.Data)
		case f.Name == "kpt/stdout":
			g.want.Stdout = string(f.Data)
		case f.Name == "kpt/stderr":
			g.want.Stderr = string(f.Data)
		case f.Name == "kpt/results":
			g.want.Results = string(f.Data)
		case strings.HasPrefix(f.Name, "kpt/files/"):
			g.want.Changed[strings.TrimPrefix(f.Name, "kpt/files/")] = string(f.Data)
		default:
			g.in = append(g.in, f)
		}
	}
	return g
}

// write writes an archive with another outcome.
func (g golden) write(t *testing.T, o outcome) {
	t.Helper()
	a := &txtar.Archive{Comment: g.comment, Files: slices.Clone(g.in)}
	add := func(name, text string) {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n" // an archive has no other texts
		}
		if text != "" || strings.HasPrefix(name, "kpt/files/") {
			a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	add("kpt/exit", o.Exit)
	add("kpt/stdout", o.Stdout)
	add("kpt/stderr", o.Stderr)
	for _, name := range slices.Sorted(maps.Keys(o.Changed)) {
		add("kpt/files/"+name, o.Changed[name])
	}
	add("kpt/results", o.Results)
	if err := os.WriteFile(g.path, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// goldens lists the archives.
func goldens(t *testing.T) []golden {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	all := make([]golden, len(paths))
	for i, path := range paths {
		all[i] = read(t, path)
	}
	return all
}

// name returns the name of a golden.
func (g golden) name() string { return strings.TrimSuffix(filepath.Base(g.path), ".txtar") }

// unpack writes the package into a new directory, and returns it with a directory of programs.
func (g golden) unpack(t *testing.T) (dir, programs string) {
	t.Helper()
	dir = filetest.Unpack(t, g.in)
	programs = t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(self, filepath.Join(programs, "fn")); err != nil {
		t.Fatal(err)
	}
	return dir, programs
}

// byKpt renders the package with a real kpt, and returns what it did.
func (g golden) byKpt(t *testing.T, kpt string) outcome {
	t.Helper()
	dir, programs := g.unpack(t)
	before := snapshot(t, dir)
	args := []string{"fn", "render", "in", "--results-dir", "results"}
	if !g.noExec {
		args = append(args, "--allow-exec")
	}
	cmd := exec.CommandContext(context.Background(), kpt, append(args, g.args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + programs + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + programs, "MINE=of the user"}
	if err := os.Mkdir(filepath.Join(dir, "results"), 0o755); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	exit := 0
	if err := cmd.Run(); err != nil {
		var failed *exec.ExitError
		if !errors.As(err, &failed) {
			t.Fatal(err)
		}
		exit = failed.ExitCode()
	}
	return collect(t, dir, before, outcome{Exit: fmt.Sprintln(exit), Stdout: stdout.String(), Stderr: stderr.String()})
}

// collect adds the files that a render left in a directory.
func collect(t *testing.T, dir string, before map[string]string, o outcome) outcome {
	t.Helper()
	o.Changed = map[string]string{}
	after := snapshot(t, dir)
	for name, text := range after {
		if old, ok := before[name]; (!ok || old != text) && !strings.HasPrefix(name, "results/") {
			o.Changed[name] = plain(text, dir)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			o.Changed[name] = gone
		}
	}
	o.Results = plain(after["results/results.yaml"], dir)
	o.Stdout, o.Stderr = plain(o.Stdout, dir), plain(o.Stderr, dir)
	return o
}

// plain replaces what differs between two runs.
func plain(text, dir string) string {
	text = strings.ReplaceAll(text, dir, "$DIR")
	text = regexp.MustCompile(` in [0-9.]+m?s\b`).ReplaceAllString(text, " in 0s")
	return regexp.MustCompile(`/tmp/[^ "\n]*`).ReplaceAllString(text, "$$TMP")
}

// snapshot reads all files below a directory. A link is its target.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			files[rel] = "-> " + to
			return err
		}
		data, err := os.ReadFile(path)
		files[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// live returns the real kpt: $KPT, or the one among the tools of this module.
func live(t *testing.T) string {
	t.Helper()
	for _, path := range []string{os.Getenv("KPT"), "../../bin/tools/kpt"} {
		if _, err := os.Stat(path); path != "" && err == nil {
			abs, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			return abs
		}
	}
	t.Skip("NOT TESTED: the real kpt is not here ($KPT names it)")
	return ""
}

// TestGoldensAreOfKpt compares the archives with what the real kpt does.
func TestGoldensAreOfKpt(t *testing.T) {
	t.Parallel()
	kpt := live(t)
	for _, g := range goldens(t) {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			got := g.byKpt(t, kpt)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				g.write(t, got)
				return
			}
			if diff := cmp.Diff(g.want, got); diff != "" {
				t.Errorf("testdata/make.sh updates it (-stored +kpt):\n%s", diff)
			}
		})
	}
}

// TestGoldensAreDocumented finds each archive in docs/kpt.md, and no other.
func TestGoldensAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/kpt.md")
	if err != nil {
		t.Fatal(err)
	}
	_, facts, _ := strings.Cut(string(page), "\n## What kpt does\n")
	for _, g := range goldens(t) {
		if !strings.Contains(facts, "`"+g.name()+"`") {
			t.Errorf("docs/kpt.md does not name %s", g.name())
		}
	}
	for line := range strings.SplitSeq(facts, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for _, m := range regexp.MustCompile("`([a-z0-9-]+)`").FindAllStringSubmatch(cells[2], -1) {
			if _, err := os.Stat("testdata/" + m[1] + ".txtar"); err != nil {
				t.Errorf("docs/kpt.md names %s: %v", m[1], err)
			}
		}
	}
}
