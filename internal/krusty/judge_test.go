package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOutcomes are of tests without tests below them, and nothing that a test prints.
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

// TestJudge holds the list of differences to both runs, so that it cannot rot.
func TestJudge(t *testing.T) {
	t.Parallel()
	theirs := outcomes{"Both": pass, "Only": pass, "Listed": pass, "Stale": pass, "Neither": fail, "Gone": pass}
	ours := outcomes{"Both": pass, "Only": fail, "Listed": fail, "Stale": pass, "Neither": fail}
	got := judge(theirs, ours, []difference{{test: "Listed", line: 1}, {test: "Stale", line: 2}, {test: "Neither", line: 3}, {test: "Unknown", line: 4}})
	want := []string{
		"Gone: it passes with kustomize, and with krmcat: it did not run",
		"Only: it passes with kustomize, and with krmcat: FAIL",
		"Stale: it is listed in line 2, and passes with krmcat: take the line out",
		"Neither: it is listed in line 3, and with kustomize: FAIL",
		"Unknown: it is listed in line 4, and with kustomize: it did not run",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDifferencesHaveReasons reads the list.
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

// TestHarnessReplaces what is there, and nothing else.
func TestHarnessReplaces(t *testing.T) {
	t.Parallel()
	to := t.TempDir()
	if err := overlay("testdata/harness", to); err == nil {
		t.Error("a file that replaces nothing was taken")
	}
}
