package starlark

import (
	"fmt"

	"go.starlark.net/syntax"
)

// deeds is what the files of a script do at their top level, taken together.
type deeds struct {
	defines bool // functions
	acts    bool // anything else that could change what the script was given
}

// see looks through a file, before the guards are put in: they are calls too.
func (d *deeds) see(f *syntax.File) {
	for _, s := range f.Stmts {
		switch s := s.(type) {
		case *syntax.LoadStmt, *syntax.BranchStmt:
		case *syntax.DefStmt:
			d.defines = true
			for _, p := range s.Params { // defaults are made when it is defined
				d.expression(p)
			}
		case *syntax.ExprStmt:
			_, text := s.X.(*syntax.Literal) // a docstring
			d.acts = d.acts || !text
		case *syntax.AssignStmt:
			// A list is extended in place by +=, under whatever name.
			d.acts = d.acts || s.Op != syntax.EQ
			d.expression(s.LHS)
			d.expression(s.RHS)
			syntax.Walk(s.LHS, func(n syntax.Node) bool {
				switch n.(type) {
				case *syntax.IndexExpr, *syntax.DotExpr:
					d.acts = true
				}
				return true
			})
		default:
			d.acts = true
		}
	}
}

// expression looks for calls. Those in a lambda are not made here.
func (d *deeds) expression(e syntax.Expr) {
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.LambdaExpr:
			d.defines = true
			return false
		case *syntax.CallExpr:
			d.acts = true
		}
		return true
	})
}

// idle is the error of a script that would be run and do nothing: its functions are defined,
// and nobody calls them.
func (d *deeds) idle(name string) error {
	if d.acts || !d.defines {
		return nil
	}
	return fmt.Errorf("%s: it only defines functions and calls none, so it would do nothing. The first file of a script is the one that runs", name)
}
