package starlark

import (
	"fmt"

	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/krmcat/krmcat/internal/failure"
)

// The bounds on one value that an operator or a builtin makes. The interpreter calls OnMaxSteps
// only between steps, and a single step could take gigabytes.
const (
	maxText  = 16 << 20 // bytes of a string
	maxElems = maxNodes // elements of a list or tuple
	maxBits  = 1 << 20  // of an integer
	tiny     = 1 << 10  // bytes or elements that may be added without a check

	maxDigits = maxBits / 8 // of a text that is made an integer

	maxSyntax = 10_000 // nested nodes of the syntax tree
)

// The names of the guards. They are not valid identifiers in a script.
const (
	guardPlus   = "(added)"
	guardTimes  = "(multiplied)"
	guardAppend = "(appended)"
	guardSelf   = "(receiver)"
)

// guards returns the predeclared guards.
func guards() starlark.StringDict {
	return starlark.StringDict{
		guardPlus:   starlark.NewBuiltin(guardPlus, added),
		guardTimes:  starlark.NewBuiltin(guardTimes, multiplied),
		guardAppend: starlark.NewBuiltin(guardAppend, appended),
		guardSelf:   starlark.NewBuiltin(guardSelf, receiver),
		guardKey:    starlark.NewBuiltin(guardKey, keyed),
	}
}

// guarder wraps parts of a syntax tree.
type guarder struct {
	guarded map[*syntax.DotExpr]bool // methods whose calls are guarded already
}

// guard wraps operands of +, *, % and of methods of strings that multiply: the interpreter's own
// bounds are a thousand times too high. A wrapped operand is a value with operators of its own,
// which the interpreter calls. It also has keys checked. guard refuses a syntax tree that is so
// deep that the recursive compiler would exhaust the stack. The parser does not count a long sum
// as nested.
func guard(f *syntax.File) error {
	g := &guarder{guarded: map[*syntax.DotExpr]bool{}}
	depth, tooDeep := 0, false
	syntax.Walk(f, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		if depth == maxSyntax {
			tooDeep = true
			return false
		}
		depth++
		g.guardNode(n)
		g.guardKeys(n)
		return true
	})
	if tooDeep {
		return failure.Untrusted.Mark(fmt.Errorf("%s: it is nested more than %d deep", f.Path, maxSyntax))
	}
	return nil
}

func (g *guarder) guardNode(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.BinaryExpr:
		if _, ok := n.Y.(*syntax.Literal); ok && n.Op != syntax.STAR {
			return // a literal is small, and the common n + 1 stays fast
		}
		switch n.Op {
		case syntax.PLUS:
			n.Y = guardCall(guardPlus, n.OpPos, n.Y)
		case syntax.STAR:
			n.Y = guardCall(guardTimes, n.OpPos, n.Y)
		case syntax.PERCENT:
			n.X = guardCall(guardSelf, n.OpPos, n.X)
		default: // no other operator makes a large value
		}
	case *syntax.AssignStmt:
		switch n.Op {
		case syntax.PLUS_EQ, syntax.PERCENT_EQ:
			n.RHS = guardCall(guardAppend, n.OpPos, n.RHS)
		case syntax.STAR_EQ:
			n.RHS = guardCall(guardTimes, n.OpPos, n.RHS)
		default: // no other operator makes a large value
		}
	case *syntax.DotExpr:
		if guardedMethods(n.Name.Name) != nil && !g.guarded[n] {
			n.X = guardCall(guardSelf, n.Dot, n.X)
		}
	}
}

func guardCall(name string, at syntax.Position, arg syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{
		Fn:     &syntax.Ident{NamePos: at, Name: name},
		Lparen: at,
		Args:   []syntax.Expr{arg},
		Rparen: at,
	}
}

// added wraps the right operand of a + that may make a large value.
func added(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	switch v := args[0].(type) {
	case starlark.String, starlark.Bytes, *starlark.List, starlark.Tuple:
		if starlark.Len(v) > tiny {
			return guarded{v}, nil
		}
	}
	return args[0], nil
}

// multiplied wraps the right operand of a *.
func multiplied(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	switch v := args[0].(type) {
	case starlark.Int, starlark.String, starlark.Bytes, *starlark.List, starlark.Tuple:
		return guarded{v}, nil
	}
	return args[0], nil
}

// appended checks the right operand of += and %=. It is not wrapped: only the interpreter can
// extend a list in place.
func appended(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	switch v := args[0].(type) {
	case starlark.String, starlark.Bytes:
		if starlark.Len(v) > tiny {
			return guarded{v}, nil
		}
	case starlark.Iterable:
		if length(v) > maxElems {
			return nil, errTooMany
		}
	}
	return args[0], nil
}

// receiver wraps the operand of a method or of % that multiplies.
func receiver(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	switch v := args[0].(type) {
	case starlark.String:
		return guardedSelf{v}, nil
	case *starlark.List, *starlark.Dict, *starlark.Set, startime.Time:
		return guardedSelf{v}, nil
	}
	return args[0], nil
}

var (
	errTooLong = fmt.Errorf("a string would be longer than %d bytes", maxText)
	errTooMany = fmt.Errorf("a list would have more than %d elements", maxElems)
	errTooWide = fmt.Errorf("an integer would have more than %d bits", maxBits)
)

// guarded is a wrapped right operand of + or *.
type guarded struct{ starlark.Value }

// Binary implements starlark.HasBinary.
func (g guarded) Binary(op syntax.Token, x starlark.Value, side starlark.Side) (starlark.Value, error) {
	if side == starlark.Left {
		return nil, nil //nolint:nilnil // it is never on the left
	}
	if err := checkOperands(op, x, g.Value); err != nil {
		return nil, err
	}
	return starlark.Binary(op, x, g.Value)
}

func checkOperands(op syntax.Token, x, y starlark.Value) error {
	if op == syntax.PLUS {
		return checkSize(x, max(starlark.Len(x), 0)+max(starlark.Len(y), 0))
	}
	if _, ok := x.(starlark.Int); ok {
		x, y = y, x
	}
	times, ok := y.(starlark.Int)
	if !ok {
		return nil
	}
	if i, ok := x.(starlark.Int); ok {
		if bits(i)+bits(times) > maxBits {
			return errTooWide
		}
		return nil
	}
	n, ok := times.Int64()
	if size := int64(max(starlark.Len(x), 0)); ok && n > 0 && size > 0 && n <= int64(maxText)/size {
		return checkSize(x, int(n*size))
	} else if n > 0 && size > 0 || !ok && times.Sign() > 0 {
		return checkSize(x, maxText+1)
	}
	return nil
}

// checkSize returns an error if a value of x's type may not have a size.
func checkSize(x starlark.Value, size int) error {
	switch x.(type) {
	case starlark.String, starlark.Bytes:
		if size > maxText {
			return errTooLong
		}
	case *starlark.List, starlark.Tuple:
		if size > maxElems {
			return errTooMany
		}
	}
	return nil
}

// length returns the number of elements of a value, of which some have none that is known before.
// It counts only to the bound.
func length(v starlark.Value) int {
	if n := starlark.Len(v); n >= 0 {
		return n
	}
	n := 0
	if it, ok := v.(starlark.Iterable); ok {
		for range starlark.Elements(it) {
			if n++; n > maxElems {
				break
			}
		}
	}
	return n
}

func bits(i starlark.Int) int {
	if _, ok := i.Int64(); ok {
		return 64
	}
	return i.BigInt().BitLen()
}
