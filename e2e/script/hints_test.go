package script

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestHintsAreAsserted checks that a script or a test of its package expects each hint of an error,
// the text after "Try:" or "to allow more:". So a change to a hint shows up in the whole message.
func TestHintsAreAsserted(t *testing.T) {
	t.Parallel()
	shown := shownHints(t)
	seen := 0
	for _, h := range sourceHints(t) {
		seen++
		if why := unasserted()[h.text()]; why != "" {
			continue
		}
		if !slices.ContainsFunc(append(shown, testStrings(t, h.dir)...), h.in) {
			t.Errorf("%s: no script and no test of this package expects the hint %q", h.where, h.text())
		}
	}
	if seen < 40 || len(shown) < 40 {
		t.Errorf("found only %d hints and %d expected hints", seen, len(shown))
	}
}

// unasserted lists hints that nothing expects, with the reason.
func unasserted() map[string]string { return map[string]string{} }

// root is the directory of the module.
const root = "../.."

// hint is the text of a hint: its constant parts, without what varies between them.
type hint struct {
	parts      []string
	dir, where string
}

func (h hint) text() string { return strings.Join(h.parts, "*") }

// in reports whether a text has all parts in order.
func (h hint) in(text string) bool {
	for _, part := range h.parts {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return true
}

// shownHints returns the lines of scripts that expect a hint, without the escapes of regular
// expressions.
func shownHints(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, file := range files(t, scripts, ".txtar") {
		for line := range strings.Lines(read(t, file)) {
			i := max(strings.LastIndex(line, "Try: "), strings.LastIndex(line, "to allow more: "))
			if i >= 0 && !strings.HasPrefix(line, "! ") {
				out = append(out, strings.NewReplacer(`\`, "", "''", "'").Replace(line[i:]))
			}
		}
	}
	return out
}

// testStrings returns the string literals in the tests of a package. The tests of an internal
// package may be in the directory above.
func testStrings(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	if above, _, internal := strings.Cut(dir, "/internal/"); internal && above != root {
		out = testStrings(t, above)
	}
	list, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range list {
		ast.Inspect(parsed(t, file).file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				out = append(out, unquoted(lit))
			}
			return true
		})
	}
	return out
}

// sourceHints returns the hints in the source: the values of fields, and the results of methods,
// with certain names.
func sourceHints(t *testing.T) []hint {
	t.Helper()
	var out []hint
	names := regexp.MustCompile(`^([tT]ry|[fF]lags?|Permit|Write)$`)
	all := map[string][]source{}
	for _, file := range files(t, root, ".go") {
		if !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "test/") {
			all[filepath.Dir(file)] = append(all[filepath.Dir(file)], parsed(t, file))
		}
	}
	for dir, list := range all {
		known := constants(list)
		for _, s := range list {
			for _, value := range values(s.file, names) {
				parts := slices.DeleteFunc(known.parts(value), func(p string) bool { return strings.TrimSpace(p) == "" })
				if len(parts) > 0 {
					out = append(out, hint{parts, dir, s.set.Position(value.Pos()).String()})
				}
			}
		}
	}
	return out
}

// values returns the expressions that are assigned to a field, or returned by a method, with one of
// these names.
func values(file *ast.File, names *regexp.Regexp) []ast.Expr {
	var out []ast.Expr
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if of, ok := n.Type.(*ast.Ident); ok && of.Name == "Restriction" && len(n.Elts) == 2 { // a Restriction of sandbox
				out = append(out, n.Elts[1])
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && names.MatchString(key.Name) {
				out = append(out, n.Value)
			}
		case *ast.AssignStmt:
			if to, ok := n.Lhs[0].(*ast.SelectorExpr); ok && names.MatchString(to.Sel.Name) {
				out = append(out, n.Rhs[0])
			}
		case *ast.FuncDecl:
			if n.Recv != nil && names.MatchString(n.Name.Name) {
				ast.Inspect(n, func(n ast.Node) bool {
					if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
						out = append(out, r.Results[0])
					}
					return true
				})
			}
		}
		return true
	})
	return out
}

// known maps the constants of a package to their values.
type known map[string]ast.Expr

func constants(list []source) known {
	out := known{}
	for _, s := range list {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == len(spec.Names) {
				for i, name := range spec.Names {
					out[name.Name] = spec.Values[i]
				}
			}
			return true
		})
	}
	return out
}

// parts returns the constant parts of a text. The text between two parts is not known.
func (k known) parts(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return []string{unquoted(e)}
	case *ast.Ident:
		if value := k[e.Name]; value != nil {
			return k.parts(value)
		}
	case *ast.BinaryExpr:
		left, right := k.parts(e.X), k.parts(e.Y)
		left[len(left)-1] += right[0]
		return append(left, right[1:]...)
	case *ast.CallExpr:
		switch of := e.Fun.(type) {
		case *ast.Ident:
			if of.Name == "string" {
				return k.parts(e.Args[0])
			}
		case *ast.SelectorExpr:
			if of.Sel.Name == "Sprintf" {
				return regexp.MustCompile(`%[a-z]`).Split(k.parts(e.Args[0])[0], -1)
			}
		}
	}
	return []string{"", ""}
}

// source is a parsed file.
type source struct {
	file *ast.File
	set  *token.FileSet
}

func parsed(t *testing.T, path string) source {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return source{file, set}
}

func unquoted(lit *ast.BasicLit) string {
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return text
}

// files lists the files below a directory with an extension.
func files(t *testing.T, dir, ext string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{".git", "bin"}, d.Name()) {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() && filepath.Ext(path) == ext {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
