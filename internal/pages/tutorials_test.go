package pages

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/regtest"
)

// TestReadmeRuns types the README from top to bottom, in an empty directory. UPDATE_GOLDEN=1
// updates the output on the page.
func TestReadmeRuns(t *testing.T) {
	t.Parallel()
	typed(t, "README.md", 7)
}

// TestTutorialsRun types each tutorial from top to bottom, in an empty directory of its own.
// UPDATE_GOLDEN=1 updates the output on the page.
func TestTutorialsRun(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join(top, "docs", "tutorials", "*.md"))
	if err != nil || len(names) < 5 {
		t.Fatalf("%d tutorials: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			typed(t, "docs/tutorials/"+filepath.Base(name), 3)
		})
	}
}

func typed(t *testing.T, name string, least int) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the page uses paths of other systems")
	}
	h := newHome(t)
	h.typed, h.path, h.printed = true, os.Getenv("PATH"), new(string)
	h.host = regtest.Start(t, regtest.Options{}).Host
	h.runPage(t, name, least)
}

// typeFile writes the file of a block, or changes the file as a block with a diff says. The lines
// that begin with - are in the file, and the lines that begin with + replace them.
func (h home) typeFile(t *testing.T, b block) {
	t.Helper()
	kind, file, _ := strings.Cut(b.info, " file=")
	text := h.here(b.text)
	if kind == "diff" {
		was, err := os.ReadFile(filepath.Join(h.dir, "shop", file))
		if err != nil {
			t.Fatal(err)
		}
		var old, now strings.Builder
		for line := range strings.Lines(text) {
			switch line[0] {
			case '-':
				old.WriteString(line[1:])
			case '+':
				now.WriteString(line[1:])
			}
		}
		if strings.Count(string(was), old.String()) != 1 {
			t.Fatalf("line %d: want these lines once in %s", b.line, file)
		}
		text = strings.Replace(string(was), old.String(), now.String(), 1)
	}
	h.write(t, "shop/"+file, text)
}
