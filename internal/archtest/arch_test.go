package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tags are what the Makefile builds with.
const tags = "kustomize_disable_go_plugin_support"

// known are the accepted problems, without their line numbers, and the reasons.
func known() map[string]string {
	return map[string]string{
		"pipeline/target.go: an interface of 4 methods, more than 3": "Kind and Notes are for the plan; Steps and Build are the interface",
	}
}

func loadTree(t *testing.T) Tree {
	t.Helper()
	// go list reads the folders in another process. They are read here too, so that a cached result
	// of this test depends on them.
	err := filepath.WalkDir(filepath.Join("..", ".."), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{".git", "bin", "dist", "testdata"}, d.Name()) {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Load(t.Context(), filepath.Join("..", ".."), tags)
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Packages) < 10 {
		t.Fatalf("found only %d packages", len(tree.Packages))
	}
	return tree
}

func TestImports(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := ParseRules(string(page))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range checkImports(loadTree(t), rules) {
		t.Error(p)
	}
}

func TestHouse(t *testing.T) {
	t.Parallel()
	known := known()
	for _, p := range checkHouse(loadTree(t)) {
		if _, ok := known[p.unnumbered()]; !ok {
			t.Error(p)
			continue
		}
		delete(known, p.unnumbered())
	}
	for text := range known {
		t.Errorf("this problem no longer exists, remove it from the list: %s", text)
	}
}

func TestModuleHasNoTools(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "require ")
		for _, no := range []string{
			"tool ", "tool (", "replace ", "github.com/golangci/", "github.com/distribution/distribution/",
			"sigs.k8s.io/kustomize/kustomize/", "honnef.co/",
		} {
			if strings.HasPrefix(line, no) {
				t.Errorf("go.mod: %q does not belong there: tools have modules of their own in internal/tools", line)
			}
		}
	}
}
