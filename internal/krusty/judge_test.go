package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOutcomes checks that only tests without subtests are read, and nothing that a test prints.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	const mark = "\x16"
	got := readOutcomes([]byte(mark + "=== RUN   TestA\n--- PASS: TestPrinted (0.00s)\nprinted" + mark + "--- FAIL: TestA (0.01s)\n" +
		mark + "--- FAIL: TestB (0.00s)\n" + mark + "    --- PASS: TestB/one (0.00s)\n" + mark + "    --- SKIP: TestB/two (0.00s)\n"))
	want := outcomes{"TestA": fail, "TestB/one": pass, "TestB/two": skip}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestJudge checks that the list of differences must match both runs.
func TestJudge(t *testing.T) {
	t.Parallel()
	theirs := outcomes{"Both": pass, "Only": pass, "Listed": pass, "Stale": pass, "Neither": fail, "Gone": pass}
	ours := outcomes{"Both": pass, "Only": fail, "Listed": fail, "Stale": pass, "Neither": fail}
	got := judge(theirs, ours, []difference{{test: "Listed", line: 1}, {test: "Stale", line: 2}, {test: "Neither", line: 3}, {test: "Unknown", line: 4}})
	want := []string{
		"Gone: the result with kustomize is PASS, with krmcat: it did not run",
		"Only: the result with kustomize is PASS, with krmcat: FAIL",
		"Stale: it is listed in line 2, but passes with krmcat: remove the line",
		"Neither: it is listed in line 3, but the result with kustomize is: FAIL",
		"Unknown: it is listed in line 4, but the result with kustomize is: it did not run",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDifferencesHaveReasons checks that each difference has a reason, and is listed once.
func TestDifferencesHaveReasons(t *testing.T) {
	t.Parallel()
	if _, err := readDifferences("testdata/differences.txt"); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{"# c\n\nTestA\n": "3: TestA needs a reason", "TestA: x\nTestA: y\n": "2: TestA is listed twice"} {
		file := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readDifferences(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestHarnessReplacesFiles checks that a file of the harness that replaces no file of kustomize is
// an error.
func TestHarnessReplacesFiles(t *testing.T) {
	t.Parallel()
	to := t.TempDir()
	if err := overlay("testdata/harness", to); err == nil {
		t.Error("overlay wrote a file that replaces none")
	}
}
