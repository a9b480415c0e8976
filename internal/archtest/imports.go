package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Problem is one violation of the rules.
type Problem struct {
	Where string // package/file.go:line
	What  string
}

// String writes the place first.
func (p Problem) String() string { return p.Where + ": " + p.What }

// unnumbered returns the problem without its line number, which changes with the code above.
func (p Problem) unnumbered() string {
	file, _, _ := strings.Cut(p.Where, ":")
	return file + ": " + p.What
}

// support marks the row of a package that only tests use. Such a package may import everything, and
// only such packages and tests may import it.
const support = "tests"

// checkImports compares every import and call of a tree with the tables.
func checkImports(t Tree, r Rules) []Problem {
	c := checker{tree: t, rules: r}
	for _, p := range t.Packages {
		row, ok := find(r.Ours, p.Path)
		if !ok {
			c.report(p.Path, "the package is in no row of the table of packages")
			continue
		}
		if slices.Contains(row.Allowed, support) {
			continue
		}
		for _, f := range p.Files {
			c.file(p, f, row)
		}
	}
	return c.problems
}

type checker struct {
	tree     Tree
	rules    Rules
	problems []Problem
}

func (c *checker) report(where, format string, args ...any) {
	c.problems = append(c.problems, Problem{where, fmt.Sprintf(format, args...)})
}

func (c *checker) file(p Package, f File, row Row) {
	names := map[string]string{}
	for _, spec := range f.Syntax.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		at := where(p, f, spec)
		names[localName(spec, target)] = target
		if spec.Name != nil && spec.Name.Name == "." {
			c.report(at, "a dot import hides where names come from")
		}
		if target == c.tree.Module || strings.HasPrefix(target, c.tree.Module+"/") {
			c.ours(at, below(c.tree.Module, target), p, row)
			continue
		}
		c.outside(at, target, p, f)
	}
	c.calls(p, f, names)
}

func (c *checker) ours(at, target string, p Package, row Row) {
	if to, ok := find(c.rules.Ours, target); ok && slices.Contains(to.Allowed, support) {
		c.report(at, "%s is for tests only", target)
		return
	}
	if !matches(row.Allowed, target) {
		c.report(at, "%s may not import %s", p.Path, target)
	}
}

// outside checks an import from another module. A package of the standard library is allowed unless
// a row has it. Every other package needs a row.
func (c *checker) outside(at, target string, p Package, f File) {
	row, ok := find(c.rules.Outside, target)
	if !ok {
		if first, _, _ := strings.Cut(target, "/"); strings.Contains(first, ".") {
			c.report(at, "%s is in no row of the table of outside packages", target)
		}
		return
	}
	if !allowed(row, p, f) {
		c.report(at, "%s may not import %s", p.Path, target)
	}
}

// calls checks which names of other packages a file uses.
func (c *checker) calls(p Package, f File, imported map[string]string) {
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok || imported[x.Name] == "" {
			return true
		}
		name := imported[x.Name] + "." + sel.Sel.Name
		if row, ok := find(c.rules.Calls, name); ok && !allowed(row, p, f) {
			c.report(where(p, f, n), "%s may not use %s", p.Path, name)
		}
		return true
	})
}

// allowed reports whether a row allows a package, or one file of it.
func allowed(row Row, p Package, f File) bool {
	return matches(row.Allowed, p.Path) || slices.Contains(row.Allowed, p.Path+"/"+f.Name)
}

// localName returns the name of an import in a file. Without a written name it is the last part of
// the path, which is right for the packages in the table of calls.
func localName(spec *ast.ImportSpec, target string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path.Base(target)
}

func where(p Package, f File, n ast.Node) string {
	file := p.Path + "/" + f.Name
	if p.Path == root {
		file = f.Name
	}
	return fmt.Sprintf("%s:%d", file, f.line(n))
}
