package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits. An exception needs a reason: in a directive in the code for a variable, in the list
// of the test for anything else.
const (
	maxFile      = 400 // lines
	maxFunction  = 60  // lines
	maxDepth     = 4   // blocks inside blocks
	maxInterface = 3   // methods
	maxComment   = 100 // characters of a line
	paragraphs   = 3   // of a package comment: the question, what it hides, what never goes in
)

const globalsDirective = "//nolint:gochecknoglobals // "

// checkHouse reports what exceeds a limit, has no comment, or is state.
func checkHouse(t Tree) []Problem {
	c := checker{tree: t}
	for _, p := range t.Packages {
		if p.Path != root {
			c.packageComment(p)
		}
		for _, f := range p.Files {
			c.declarations(p, f)
		}
	}
	return c.problems
}

func (c *checker) packageComment(p Package) {
	i := slices.IndexFunc(p.Files, func(f File) bool { return f.Name == "doc.go" })
	if i < 0 {
		c.report(p.Path, "it has no doc.go")
		return
	}
	text := p.Files[i].Syntax.Doc.Text()
	named := strings.HasPrefix(text, "Package ") || strings.HasPrefix(text, "Command ")
	if !named || strings.Count(strings.TrimSpace(text), "\n\n")+1 < paragraphs {
		c.report(p.Path+"/doc.go", "its comment has fewer than three paragraphs: the question, what it hides, what never goes in")
	}
}

func (c *checker) declarations(p Package, f File) {
	if n := f.Set.File(f.Syntax.Pos()).LineCount(); n > maxFile {
		c.report(p.Path+"/"+f.Name, "it has %d lines, more than %d", n, maxFile)
	}
	for _, d := range f.Syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			c.function(p, f, d)
		case *ast.GenDecl:
			c.documented(p, f, d)
			if d.Tok == token.VAR {
				c.variables(p, f, d)
			}
		}
	}
	c.comments(p, f)
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if i, ok := n.(*ast.InterfaceType); ok && i.Methods.NumFields() > maxInterface {
			c.report(where(p, f, n), "an interface of %d methods, more than %d", i.Methods.NumFields(), maxInterface)
		}
		return true
	})
}

func (c *checker) function(p Package, f File, d *ast.FuncDecl) {
	if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || receiver(d).IsExported()) {
		c.report(where(p, f, d), "%s has no comment", d.Name.Name)
	}
	if d.Name.Name == "init" && d.Recv == nil {
		c.report(where(p, f, d), "func init")
	}
	if n := f.lines(d); n > maxFunction {
		c.report(where(p, f, d), "%s has %d lines, more than %d", d.Name.Name, n, maxFunction)
	}
	if d.Body == nil {
		return
	}
	if n := depth(d.Body); n > maxDepth {
		c.report(where(p, f, d), "%s has blocks %d deep, more than %d", d.Name.Name, n, maxDepth)
	}
}

// comments reports lines of comments that are too long. Directives have to be one line.
func (c *checker) comments(p Package, f File) {
	for _, group := range f.Syntax.Comments {
		for _, line := range group.List {
			if n := utf8.RuneCountInString(line.Text); n > maxComment && strings.HasPrefix(line.Text, "// ") {
				c.report(where(p, f, line), "a comment of %d characters, more than %d", n, maxComment)
			}
		}
	}
}

// receiver returns the name of a method's type.
func receiver(d *ast.FuncDecl) *ast.Ident {
	t := d.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.Ident:
			return of
		default:
			return ast.NewIdent("")
		}
	}
}

// documented reports exported types, constants and variables without a comment. The comment of a
// group covers its constants and variables.
func (c *checker) documented(p Package, f File, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && (d.Doc == nil || d.Lparen.IsValid()) {
				c.report(where(p, f, s), "%s has no comment", s.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
					c.report(where(p, f, s), "%s has no comment", name.Name)
				}
			}
		}
	}
}

// depth returns how deep if, for, switch and select statements are nested. An else-if is as deep as
// its if, and a function literal starts at 0.
func depth(n ast.Node) int {
	deepest := 0
	ast.Inspect(n, func(m ast.Node) bool {
		if m == nil || m == n {
			return true
		}
		var inside int
		switch m := m.(type) {
		case *ast.FuncLit:
			deepest = max(deepest, depth(m.Body))
			return false
		case *ast.IfStmt:
			inside = 1 + depth(m.Body)
			if e, ok := m.Else.(*ast.IfStmt); ok {
				inside = max(inside, depth(&ast.BlockStmt{List: []ast.Stmt{e}}))
			} else if m.Else != nil {
				inside = max(inside, 1+depth(m.Else))
			}
		case *ast.ForStmt:
			inside = 1 + depth(m.Body)
		case *ast.RangeStmt:
			inside = 1 + depth(m.Body)
		case *ast.SwitchStmt:
			inside = 1 + depth(m.Body)
		case *ast.TypeSwitchStmt:
			inside = 1 + depth(m.Body)
		case *ast.SelectStmt:
			inside = 1 + depth(m.Body)
		default:
			return true
		}
		deepest = max(deepest, inside)
		return false
	})
	return deepest
}

// variables reports package-level state: variables other than errors, patterns, embedded files and
// assertions that a type implements an interface.
func (c *checker) variables(p Package, f File, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok || constant(v) || marked(f, v) || embedded(d, v) {
			continue
		}
		c.report(where(p, f, v), "the package-level variable %s is state", v.Names[0].Name)
	}
}

func constant(v *ast.ValueSpec) bool {
	if v.Names[0].Name == "_" && v.Type != nil { // without one it would run something
		return true
	}
	if len(v.Values) == 0 {
		return false
	}
	for _, value := range v.Values {
		call, ok := value.(*ast.CallExpr)
		if !ok {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok || !slices.Contains([]string{"errors.New", "fmt.Errorf", "regexp.MustCompile"}, x.Name+"."+sel.Sel.Name) {
			return false
		}
	}
	return true
}

func embedded(d *ast.GenDecl, v *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{d.Doc, v.Doc} {
		if doc == nil {
			continue
		}
		for _, comment := range doc.List {
			if strings.HasPrefix(comment.Text, "//go:embed ") {
				return true
			}
		}
	}
	return false
}

// marked reports whether the line of a variable, or the one above, has the linter's directive with
// a reason.
func marked(f File, v *ast.ValueSpec) bool {
	at := f.line(v)
	for _, group := range f.Syntax.Comments {
		for _, comment := range group.List {
			if n := f.line(comment); n != at && n != at-1 {
				continue
			}
			if strings.HasPrefix(comment.Text, globalsDirective) && len(comment.Text) > len(globalsDirective) {
				return true
			}
		}
	}
	return false
}
