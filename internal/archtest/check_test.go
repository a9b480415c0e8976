package archtest

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

const examplePage = `
<!-- archtest: ours -->
| layer | package | may import |
|---|---|---|
| 0 | ` + "`low`" + ` | – |
| 1 | ` + "`high` | `low`" + ` |
| 1 | ` + "`high/*` | `high` `low`" + ` |
| – | ` + "`help` | `tests`" + ` |
| 2 | ` + "`main.go` | `high`" + ` |

<!-- archtest: outside -->
| outside | imported by | why |
|---|---|---|
| ` + "`example.org/lib/...` | `high`" + ` | |
| ` + "`example.org/lib/inner` | `low`" + ` | |
| ` + "`os/exec` | `high/run`" + ` | |
| ` + "`unsafe`" + ` | | |

<!-- archtest: calls -->
| name | used by | why |
|---|---|---|
| ` + "`os.Getenv` | `low/env.go`" + ` | |
| ` + "`fmt.Print*` | `high`" + ` | |
`

// treeOf makes a module of the files in an archive.
func treeOf(t *testing.T, archive string) Tree {
	t.Helper()
	tree := Tree{Module: "example.com/m"}
	for _, file := range txtar.Parse([]byte(archive)).Files {
		f, err := parseFile(file.Name, file.Data)
		if err != nil {
			t.Fatal(err)
		}
		dir := path.Dir(file.Name)
		if dir == "." {
			dir = root
		}
		i := slices.IndexFunc(tree.Packages, func(p Package) bool { return p.Path == dir })
		if i < 0 {
			tree.Packages, i = append(tree.Packages, Package{Path: dir}), len(tree.Packages)
		}
		tree.Packages[i].Files = append(tree.Packages[i].Files, f)
	}
	return tree
}

func texts(problems []Problem) []string {
	var s []string
	for _, p := range problems {
		s = append(s, p.String())
	}
	return s
}

func TestCheckImports(t *testing.T) {
	t.Parallel()
	rules, err := ParseRules(examplePage)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, files string
		want        []string
	}{
		{"what is allowed", "-- low/a.go --\npackage low\nimport \"strings\"\n-- high/b.go --\npackage high\nimport _ \"example.com/m/low\"\n" +
			"-- high/run/r.go --\npackage run\nimport (\n_ \"os/exec\"\n_ \"example.com/m/high\"\n)\n-- main.go --\npackage main\nimport _ \"example.com/m/high\"\n", nil},
		{"upwards", "-- low/a.go --\npackage low\n\nimport _ \"example.com/m/high\"\n", []string{"low/a.go:3: low may not import high"}},
		{"sideways", "-- high/a/a.go --\npackage a\nimport _ \"example.com/m/high/run\"\n", []string{"high/a/a.go:2: high/a may not import high/run"}},
		{"a package nobody listed", "-- lost/a.go --\npackage lost\n", []string{"lost: the package is in no row of the table of packages"}},
		{"help from code", "-- high/a.go --\npackage high\nimport _ \"example.com/m/help\"\n", []string{"high/a.go:2: help is for tests only"}},
		{"help may do anything", "-- help/a.go --\npackage help\nimport (\n_ \"os/exec\"\n_ \"example.net/x\"\n)\n", nil},
		{"the root from below", "-- low/a.go --\npackage low\nimport _ \"example.com/m\"\n", []string{"low/a.go:2: low may not import main.go"}},
		{"outside, for another", "-- low/a.go --\npackage low\nimport _ \"example.org/lib/x\"\n", []string{"low/a.go:2: low may not import example.org/lib/x"}},
		{"outside, the precise row", "-- low/a.go --\npackage low\nimport _ \"example.org/lib/inner\"\n", nil},
		{"outside, not listed", "-- low/a.go --\npackage low\nimport _ \"example.net/x\"\n", []string{"low/a.go:2: example.net/x is in no row of the table of outside packages"}},
		{"for nobody", "-- high/a.go --\npackage high\nimport _ \"unsafe\"\n", []string{"high/a.go:2: high may not import unsafe"}},
		{"a process", "-- low/a.go --\n//go:build plan9\n\npackage low\nimport _ \"os/exec\"\n", []string{"low/a.go:4: low may not import os/exec"}},
		{"a dot", "-- low/a.go --\npackage low\nimport . \"strings\"\n", []string{"low/a.go:2: a dot import hides where names come from"}},
		{"a call in its file", "-- low/env.go --\npackage low\nimport \"os\"\nfunc f() { os.Getenv(\"X\") }\n", nil},
		{"a call elsewhere", "-- low/a.go --\npackage low\nimport \"os\"\nfunc f() { os.Getenv(\"X\") }\n", []string{"low/a.go:3: low may not use os.Getenv"}},
		{"a call by another name", "-- low/a.go --\npackage low\nimport e \"os\"\nvar f = e.Getenv\n", []string{"low/a.go:3: low may not use os.Getenv"}},
		{"printing", "-- low/a.go --\npackage low\nimport \"fmt\"\nfunc f() { fmt.Println() }\n", []string{"low/a.go:3: low may not use fmt.Println"}},
		{"not printing", "-- low/a.go --\npackage low\nimport \"fmt\"\nfunc f() { fmt.Sprint() }\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, texts(checkImports(treeOf(t, test.files), rules))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARuleCannotVanish(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{markOurs, markOutside, markCalls} {
		if _, err := ParseRules(strings.Replace(examplePage, mark, "", 1)); err == nil {
			t.Errorf("a page without %s is accepted", mark)
		}
		head, _, _ := strings.Cut(examplePage, mark)
		if _, err := ParseRules(head + mark + "\n\nno table\n"); err == nil {
			t.Errorf("a page with nothing under %s is accepted", mark)
		}
	}
}

const goodDoc = "-- p/doc.go --\n// Package p asks.\n//\n// It hides.\n//\n// Never in.\npackage p\n"

func TestCheckHouse(t *testing.T) {
	t.Parallel()
	nested := "if a {\nfor {\nswitch {\ncase a:\nif a {\nBODY\n}\n}\n}\n}\n"
	for _, test := range []struct {
		name, files string
		want        []string
	}{
		{"no page", "-- p/a.go --\npackage p\n", []string{"p: it has no doc.go"}},
		{"a short page", "-- p/doc.go --\n// Package p asks.\npackage p\n",
			[]string{"p/doc.go: its comment has fewer than three paragraphs: the question, what it hides, what never goes in"}},
		{"the root needs none", "-- main.go --\npackage main\nfunc main() {}\n", nil},
		{"init", goodDoc + "-- p/a.go --\npackage p\nfunc init() {}\n", []string{"p/a.go:2: func init"}},
		{"a method called init", goodDoc + "-- p/a.go --\npackage p\ntype t int\nfunc (t) init() {}\n", nil},
		{"long function", goodDoc + "-- p/a.go --\npackage p\nfunc f() {\n" + strings.Repeat("f()\n", 59) + "}\n", []string{"p/a.go:2: f has 61 lines, more than 60"}},
		{"function as long as may be", goodDoc + "-- p/a.go --\npackage p\nfunc f() {\n" + strings.Repeat("f()\n", 58) + "}\n", nil},
		{"long file", goodDoc + "-- p/a.go --\npackage p\n" + strings.Repeat("\n", 400), []string{"p/a.go: it has 401 lines, more than 400"}},
		{"deep enough", goodDoc + "-- p/a.go --\npackage p\nfunc f(a bool) {\n" + strings.Replace(nested, "BODY", "f(a)", 1) + "}\n", nil},
		{"an exported name without a comment", goodDoc + "-- p/a.go --\npackage p\nfunc F() {}\ntype T int\nfunc (*T) M() {}\nfunc (t[K]) M() {}\nconst C = 1\ntype (\n\tU int\n)\n",
			[]string{"p/a.go:2: F has no comment", "p/a.go:3: T has no comment", "p/a.go:4: M has no comment", "p/a.go:6: C has no comment", "p/a.go:8: U has no comment"}},
		{"with one", goodDoc + "-- p/a.go --\npackage p\n// F is.\nfunc F() {}\n// T is.\ntype T int\n// The numbers.\nconst (\n\tC = 1\n\tD = 2\n)\n", nil},
		{"too deep", goodDoc + "-- p/a.go --\npackage p\nfunc f(a bool) {\n" + strings.Replace(nested, "BODY", "if a {}", 1) + "}\n",
			[]string{"p/a.go:2: f has blocks 5 deep, more than 4"}},
		{"else if is no deeper", goodDoc + "-- p/a.go --\npackage p\nfunc f(a bool) {\n" + strings.Repeat("if a {} else ", 9) + "{}\n}\n", nil},
		{"long comment", goodDoc + "-- p/a.go --\npackage p\n\n// " + strings.Repeat("é", 97) + "\n// " + strings.Repeat("é", 98) + "\n//go:generate " + strings.Repeat("x", 98) + "\n",
			[]string{"p/a.go:4: a comment of 101 characters, more than 100"}},
		{"wide interface", goodDoc + "-- p/a.go --\npackage p\ntype i interface {\na()\nb()\nc()\nd()\n}\n", []string{"p/a.go:2: an interface of 4 methods, more than 3"}},
		{"file as long as may be", goodDoc + "-- p/a.go --\npackage p\n" + strings.Repeat("\n", 399), nil},
		{"state", goodDoc + "-- p/a.go --\npackage p\nvar seen = map[string]bool{}\n", []string{"p/a.go:2: the package-level variable seen is state"}},
		{"state without a value", goodDoc + "-- p/a.go --\npackage p\nvar n int\n", []string{"p/a.go:2: the package-level variable n is state"}},
		{"what runs on import", goodDoc + "-- p/a.go --\npackage p\nvar _ = leave()\nfunc leave() bool { return true }\n", []string{"p/a.go:2: the package-level variable _ is state"}},
		{"not state", goodDoc + "-- p/a.go --\npackage p\nimport \"errors\"\nvar errX = errors.New(\"x\")\nvar _ error = errX\n//go:embed a.txt\nvar text string\n" +
			"//nolint:gochecknoglobals // set by the linker\nvar version string\n", nil},
		{"a directive without a reason", goodDoc + "-- p/a.go --\npackage p\nvar version string //nolint:gochecknoglobals\n",
			[]string{"p/a.go:2: the package-level variable version is state"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, texts(checkHouse(treeOf(t, test.files)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
