package starlark

import (
	"fmt"

	"go.starlark.net/syntax"
)

// effects says what the files of a script do at their top level, together.
type effects struct {
	defines bool // they define functions
	acts    bool // they do anything else that may change the resources
}

// see looks at a file. It must come before guard, whose guards are calls.
func (d *effects) see(f *syntax.File) {
	for _, s := range f.Stmts {
		switch s := s.(type) {
		case *syntax.LoadStmt, *syntax.BranchStmt:
		case *syntax.DefStmt:
			d.defines = true
			for _, p := range s.Params { // defaults are evaluated by the definition
				d.expression(p)
			}
		case *syntax.ExprStmt:
			_, text := s.X.(*syntax.Literal) // a docstring
			d.acts = d.acts || !text
		case *syntax.AssignStmt:
			// += extends a list in place, by any name of it.
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

// expression looks for calls, except in a lambda, which are not made here.
func (d *effects) expression(e syntax.Expr) {
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

// idle returns the error for a script that would do nothing: it defines functions and calls none.
func (d *effects) idle(name string) error {
	if d.acts || !d.defines {
		return nil
	}
	return fmt.Errorf("%s: it only defines functions and calls none, so it would do nothing. The first file of a script is the one that runs", name)
}
