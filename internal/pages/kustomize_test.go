package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDifferencesAreTested compares the tables of differences in docs/kustomize.md with the tests
// that they name, and with the scripts that show the differences. Each script has its row.
func TestDifferencesAreTested(t *testing.T) {
	t.Parallel()
	functions := testFunctions(t)
	folders := scriptFolders()
	named := map[string]bool{}
	rows, inside := 0, false
	for line := range strings.Lines(page(t, "docs/kustomize.md")) {
		if header := strings.HasPrefix(line, "| what |"); header || !strings.HasPrefix(line, "|") {
			inside = header
			continue
		}
		if !inside || strings.HasPrefix(line, "|---") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 5 {
			t.Errorf("the row has %d cells, want 5: %s", len(cells), line)
			continue
		}
		for _, name := range testsOf(t, functions, cells[4]) {
			named[name] = true
		}
	}
	if rows < 30 {
		t.Errorf("found only %d rows", rows)
	}
	scripts, err := filepath.Glob(filepath.Join(top, folders["TestKustomize"], "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatal("found no scripts:", err)
	}
	for _, path := range scripts {
		if name := "TestKustomize/" + strings.TrimSuffix(filepath.Base(path), ".txtar"); !named[name] {
			t.Errorf("%s has no row in docs/kustomize.md", name)
		}
	}
}

// scriptFolders are the folders of the scripts of a test.
func scriptFolders() map[string]string {
	return map[string]string{"TestScripts": "testdata/script", "TestKustomize": "testdata/kustomize"}
}

// testsOf returns the tests that a cell of a table names. It names at least one, and all exist.
func testsOf(t *testing.T, functions map[string]bool, cell string) []string {
	t.Helper()
	var names []string
	for _, m := range regexp.MustCompile("`((?:Test|Fuzz)[^`]*)`").FindAllStringSubmatch(cell, -1) {
		names = append(names, m[1])
		name, script, _ := strings.Cut(m[1], "/")
		if !functions[name] {
			t.Errorf("there is no test %s: %s", name, cell)
		}
		if folder := scriptFolders()[name]; folder != "" {
			if _, err := os.Stat(filepath.Join(top, folder, script+".txtar")); err != nil {
				t.Errorf("%s: %v", m[1], err)
			}
		}
	}
	if len(names) == 0 {
		t.Errorf("the cell names no test: %s", cell)
	}
	return names
}

// testFunctions are the names of all tests of the module.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "bin" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			found[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
