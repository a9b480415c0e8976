package starlark

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/krmcat/krmcat/internal/failure"
)

// The bounds on one value that an operator or a builtin makes. The interpreter asks
// OnMaxSteps between steps only, and one step of its own may take gigabytes.
const (
	maxText  = 16 << 20 // bytes of a string
	maxElems = maxNodes // elements of a list or tuple
	maxBits  = 1 << 20  // of an integer
	tiny     = 1 << 10  // bytes or elements that adding costs nothing

	maxSyntax = 10_000 // nodes of the syntax tree inside each other
)

// The names of the guards. No script can write them.
const (
	guardPlus   = "(added)"
	guardTimes  = "(multiplied)"
	guardAppend = "(appended)"
	guardSelf   = "(receiver)"
)

// guards are what every file of a script knows beside what it can name.
func guards() starlark.StringDict {
	return starlark.StringDict{
		guardPlus:   starlark.NewBuiltin(guardPlus, added),
		guardTimes:  starlark.NewBuiltin(guardTimes, multiplied),
		guardAppend: starlark.NewBuiltin(guardAppend, appended),
		guardSelf:   starlark.NewBuiltin(guardSelf, receiver),
	}
}

// guard has every + and * of a script, every % and every call of a string's method that
// multiplies, go by a guard: the interpreter's own bounds are a thousand times too wide.
// An operand becomes a value that brings its own operator, which is how the interpreter
// can be asked. It refuses what is nested so deeply that the compiler, which recurses, would
// exhaust the process's stack: the parser does not count a long sum.
func guard(f *syntax.File) error {
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
		guardNode(n)
		return true
	})
	if tooDeep {
		return failure.Untrusted.Mark(fmt.Errorf("%s: it is nested more than %d deep", f.Path, maxSyntax))
	}
	return nil
}

func guardNode(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.BinaryExpr:
		if _, ok := n.Y.(*syntax.Literal); ok && n.Op != syntax.STAR {
			return // what is written out is small, and the usual n + 1 stays as fast as it was
		}
		switch n.Op {
		case syntax.PLUS:
			n.Y = guardCall(guardPlus, n.OpPos, n.Y)
		case syntax.STAR:
			n.Y = guardCall(guardTimes, n.OpPos, n.Y)
		case syntax.PERCENT:
			n.X = guardCall(guardSelf, n.OpPos, n.X)
		default: // cannot make anything large
		}
	case *syntax.AssignStmt:
		switch n.Op {
		case syntax.PLUS_EQ, syntax.PERCENT_EQ:
			n.RHS = guardCall(guardAppend, n.OpPos, n.RHS)
		case syntax.STAR_EQ:
			n.RHS = guardCall(guardTimes, n.OpPos, n.RHS)
		default: // as above
		}
	case *syntax.DotExpr:
		if guardedMethods(n.Name.Name) != nil {
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

// added wraps the right side of a + that may make something large.
func added(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	switch v := args[0].(type) {
	case starlark.String, starlark.Bytes, *starlark.List, starlark.Tuple:
		if starlark.Len(v) > tiny {
			return guarded{v}, nil
		}
	}
	return args[0], nil
}

// multiplied wraps the right side of a *.
func multiplied(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	switch v := args[0].(type) {
	case starlark.Int, starlark.String, starlark.Bytes, *starlark.List, starlark.Tuple:
		return guarded{v}, nil
	}
	return args[0], nil
}

// appended looks at the right side of += and %=. A list is extended in place, which only
// the interpreter can do.
func appended(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	switch v := args[0].(type) {
	case starlark.String, starlark.Bytes:
		if starlark.Len(v) > tiny {
			return guarded{v}, nil
		}
	case starlark.Sequence:
		if v.Len() > maxElems {
			return nil, errTooMany
		}
	}
	return args[0], nil
}

// receiver wraps what a method or % multiplies.
func receiver(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	switch v := args[0].(type) {
	case starlark.String:
		return guardedSelf{v}, nil
	case *starlark.List:
		return guardedSelf{v}, nil
	}
	return args[0], nil
}

var (
	errTooLong = fmt.Errorf("a string would be longer than %d bytes", maxText)
	errTooMany = fmt.Errorf("a list would have more than %d elements", maxElems)
	errTooWide = fmt.Errorf("an integer would have more than %d bits", maxBits)
)

// guarded is the right side of + or *.
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

// checkSize reports whether something of x's type may have a size.
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

func bits(i starlark.Int) int {
	if _, ok := i.Int64(); ok {
		return 64
	}
	return i.BigInt().BitLen()
}
