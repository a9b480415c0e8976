package report_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/cli/report"
)

// run returns calls that passed, failed by results, and failed by an exit code.
func run(t *testing.T) report.Run {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "app/web.yaml", "apiVersion: v1\nkind: Service\nmetadata:\n  name: other\n---\n# the one\napiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n")
	results := []fnexec.Result{
		{
			Message: "wrong port", Severity: "error", File: &fnexec.File{Path: "app/web.yaml", Index: 1}, Tags: map[string]string{"rule": "r1"},
			ResourceRef: &fnexec.ResourceRef{APIVersion: "v1", Kind: "Service", Name: "web"},
			Field:       &fnexec.Field{Path: "spec.ports[0].port", CurrentValue: 80, ProposedValue: 443},
		},
		{Message: "two\nlines", Severity: "warning", File: &fnexec.File{Path: "gone.yaml", Index: -1}},
		{Message: "\x1b[31m</failure>&\"'\u202e\u009b", Severity: "Fatal", ResourceRef: &fnexec.ResourceRef{Kind: "<K>\x07", Name: "]]>"}},
		{Severity: "info"},
	}
	failed := &fnexec.FunctionError{Results: results, Err: &fnexec.ResultsError{FailOn: fnexec.FailOnError, Results: results[:1]}}
	return report.Run{Version: "v1.0.0", Failed: true, Lines: report.NewLines(dir, "here"), Calls: []report.Call{
		{Name: "Set labels", Where: "here/kustomization.yaml:3", Kind: "exec", Program: "./set", Took: 12 * time.Millisecond},
		{Name: "Check it", Where: "here/check.yaml:1", Kind: "container", Program: "example.com/check:v1", Took: 1500 * time.Millisecond, Results: results, Stderr: "first\nsecond\n", Err: failed},
		{Name: "Other", Where: "a b:c/<x>.yaml:2", Kind: "starlark", Exit: 1, Err: &fnexec.FunctionError{Exit: 1, Err: &fnexec.ExitError{Code: 1, Detail: "no\nmore"}}},
		{Name: "Loud", Where: "here/loud.yaml:1", Kind: "exec", Program: "./loud", Results: results[:1], Stderr: "it ran\n"},
	}}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

var update = flag.Bool("update", false, "write the golden files")

// TestFormats compares the files with golden ones. Texts of functions never control a terminal.
func TestFormats(t *testing.T) {
	t.Parallel()
	r := run(t)
	ended := report.Run{Failed: true, Problem: "nothing \x1b[1m is there"}
	for name, encode := range map[string]func() ([]byte, error){
		"results.json": r.JSON, "results.junit.xml": r.JUnit, "results.sarif": r.SARIF,
		"ended.json": ended.JSON, "ended.junit.xml": ended.JUnit, "ended.sarif": ended.SARIF,
		"summary.txt": func() ([]byte, error) { return []byte(strings.Join(r.Summary(true), "\n") + "\n"), nil },
	} {
		got, err := encode()
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			write(t, ".", golden, string(got))
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if name != "summary.txt" && strings.ContainsAny(string(got), "\x1b\x07\u009b\u202e") {
			t.Errorf("%s controls a terminal", name)
		}
	}
}

// TestReadBack checks that the formats hold what functions wrote, whatever characters it has.
func TestReadBack(t *testing.T) {
	t.Parallel()
	r := run(t)
	var sarif struct {
		Runs []struct {
			Results []struct{ Message struct{ Text string } }
		}
	}
	data, err := r.SARIF()
	if err := errors.Join(err, json.Unmarshal(data, &sarif)); err != nil {
		t.Fatal(err)
	}
	if got := sarif.Runs[0].Results[2].Message.Text; got != r.Calls[1].Results[2].Message {
		t.Errorf("got %q", got)
	}
	var junit struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Cases []struct {
				Failure *struct {
					Text string `xml:",chardata"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	data, err = r.JUnit()
	if err := errors.Join(err, xml.Unmarshal(data, &junit)); err != nil {
		t.Fatal(err)
	}
	if junit.Tests != 7 || junit.Failures != 3 {
		t.Errorf("got %d tests and %d failures", junit.Tests, junit.Failures)
	}
	if got := junit.Suites[1].Cases[2].Failure.Text; got != `\u001b[31m</failure>&"'\u202e\u009b` {
		t.Errorf("got %q", got)
	}
}

// TestLines checks which line a field has, by every way that functions write a path.
func TestLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.yaml", `kind: A
metadata:
  name: one
  annotations:
    a.b/c: x
    a: y
spec:
  list:
  - name: n
    port: 1
  - name: m
    port: 2
  text: |
    a
  end: 1
---
kind: A
metadata: {name: two}
`)
	write(t, dir, "broken.yaml", "a: [")
	write(t, dir, "big.yaml", strings.Repeat("#\n", 9<<20))
	write(t, filepath.Dir(dir), "outside-"+filepath.Base(dir), "kind: A\n")
	if err := os.Symlink("../outside-"+filepath.Base(dir), filepath.Join(dir, "link.yaml")); err != nil {
		t.Log(err)
	}
	lines := report.NewLines(dir, "d")
	ref := func(name string) *fnexec.ResourceRef { return &fnexec.ResourceRef{Kind: "A", Name: name} }
	for _, c := range []struct {
		file  fnexec.File
		field string
		ref   *fnexec.ResourceRef
		want  report.Position
	}{
		{fnexec.File{Path: "a.yaml"}, "", nil, report.Position{"d/a.yaml", 1}},
		{fnexec.File{Path: "a.yaml"}, "spec.end", nil, report.Position{"d/a.yaml", 15}},
		{fnexec.File{Path: "a.yaml"}, "$.spec.end", nil, report.Position{"d/a.yaml", 15}},
		{fnexec.File{Path: "a.yaml"}, ".spec.list[1].port", nil, report.Position{"d/a.yaml", 12}},
		{fnexec.File{Path: "a.yaml"}, "spec.list.1.port", nil, report.Position{"d/a.yaml", 12}},
		{fnexec.File{Path: "a.yaml"}, "spec.list.[name=m].port", nil, report.Position{"d/a.yaml", 12}},
		{fnexec.File{Path: "a.yaml"}, "spec.list[name='m']", nil, report.Position{"d/a.yaml", 11}},
		{fnexec.File{Path: "a.yaml"}, "spec.list[9].port", nil, report.Position{"d/a.yaml", 8}},
		{fnexec.File{Path: "a.yaml"}, "spec.gone.more", nil, report.Position{"d/a.yaml", 7}},
		{fnexec.File{Path: "a.yaml"}, "metadata.annotations.a.b/c", nil, report.Position{"d/a.yaml", 5}},
		{fnexec.File{Path: "a.yaml"}, `metadata.annotations["a.b/c"]`, nil, report.Position{"d/a.yaml", 5}},
		{fnexec.File{Path: "a.yaml"}, `metadata.annotations.a\.b/c`, nil, report.Position{"d/a.yaml", 5}},
		{fnexec.File{Path: "a.yaml"}, "metadata.annotations.a", nil, report.Position{"d/a.yaml", 6}},
		{fnexec.File{Path: "a.yaml"}, "[[[", nil, report.Position{"d/a.yaml", 1}},
		{fnexec.File{Path: "a.yaml"}, "", ref("two"), report.Position{"d/a.yaml", 17}},
		{fnexec.File{Path: "a.yaml", Index: -1}, "metadata.name", ref("two"), report.Position{"d/a.yaml", 18}},
		{fnexec.File{Path: "a.yaml", Index: 1}, "", nil, report.Position{"d/a.yaml", 17}},
		{fnexec.File{Path: "a.yaml", Index: 7}, "", nil, report.Position{File: "d/a.yaml"}},
		{fnexec.File{Path: "a.yaml"}, "", ref("three"), report.Position{File: "d/a.yaml"}},
		{fnexec.File{Path: "broken.yaml"}, "a", nil, report.Position{File: "d/broken.yaml"}},
		{fnexec.File{Path: "gone.yaml"}, "a", nil, report.Position{File: "gone.yaml"}},
		{fnexec.File{Path: "big.yaml"}, "a", nil, report.Position{File: "big.yaml"}},
		{fnexec.File{Path: "link.yaml"}, "a", nil, report.Position{File: "link.yaml"}},
		{fnexec.File{Path: "../outside-" + filepath.Base(dir)}, "a", nil, report.Position{File: "../outside-" + filepath.Base(dir)}},
		{fnexec.File{Path: "/etc/passwd"}, "a", nil, report.Position{File: "/etc/passwd"}},
		{fnexec.File{}, "a", nil, report.Position{}},
	} {
		r := fnexec.Result{File: &c.file, Field: &fnexec.Field{Path: c.field}, ResourceRef: c.ref}
		if got := lines.Of(r); got != c.want {
			t.Errorf("%v, %q, %v: got %v, want %v", c.file, c.field, c.ref, got, c.want)
		}
	}
}

// FuzzLines checks that no path of a field is followed without end, and every line is in the file.
func FuzzLines(f *testing.F) {
	f.Add("kind: A\na:\n- b: c\n", "a[0].b")
	f.Add("kind: A\n'': {'': {}}\n", "...")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text, field string) {
		path := filepath.Join(dir, "f.yaml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := report.NewLines(dir, ".").Of(fnexec.Result{File: &fnexec.File{Path: "f.yaml"}, Field: &fnexec.Field{Path: field}})
		if got.File != "f.yaml" || got.Line > strings.Count(text, "\n")+strings.Count(text, "\r")+3 && !strings.ContainsAny(text, "\u0085\u2028\u2029") {
			t.Errorf("%v", got)
		}
	})
}
