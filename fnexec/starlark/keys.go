package starlark

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// guardKey is the guard of what becomes a key: the library hashes a tuple recursively and without
// a bound. A tuple that is nested millions deep would exhaust the stack, which ends the process,
// and one of two that are the same, sixty times, would not end.
const guardKey = "(key)"

// keyed checks a key.
func keyed(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return args[0], checkKey(args[0])
}

// checkKey refuses a tuple that is nested too deep, or that is too large, to be hashed. The error
// for a key that is missing prints it, so it is not too long either.
func checkKey(v starlark.Value) error {
	t, ok := v.(starlark.Tuple)
	if !ok {
		return nil
	}
	left := maxNodes
	if err := hashable(t, 0, &left); err != nil {
		return err
	}
	if _, err := weigh(t); err != nil {
		return fmt.Errorf("a key is a tuple that is too large: %w", err)
	}
	return nil
}

func hashable(t starlark.Tuple, depth int, left *int) error {
	if depth > maxDepth {
		return fmt.Errorf("a key is a tuple that is nested more than %d deep", maxDepth)
	}
	for _, e := range t {
		if *left--; *left < 0 {
			return fmt.Errorf("a key is a tuple of more than %d values", maxNodes)
		}
		if inner, ok := e.(starlark.Tuple); ok {
			if err := hashable(inner, depth+1, left); err != nil {
				return err
			}
		}
	}
	return nil
}

// guardKeys wraps what an index, `in` or a dict hashes, unless it is clearly no tuple.
func (g *guarder) guardKeys(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.IndexExpr:
		n.Y = keyCall(n.Y)
	case *syntax.DictEntry:
		n.Key = keyCall(n.Key)
	case *syntax.BinaryExpr:
		if n.Op == syntax.IN || n.Op == syntax.NOT_IN {
			n.X = keyCall(n.X)
		}
	case *syntax.CallExpr:
		dot, ok := n.Fn.(*syntax.DotExpr)
		if !ok || !takesKey(dot.Name.Name) || len(n.Args) == 0 || starred(n.Args) {
			return
		}
		n.Args[0] = keyCall(n.Args[0]) // the key: these methods have no parameters with names
		g.guarded[dot] = true
	}
}

func keyCall(x syntax.Expr) syntax.Expr {
	if noTuple(x) {
		return x
	}
	start, _ := x.Span()
	return guardCall(guardKey, start, x)
}

// noTuple reports whether an expression cannot be a tuple: a literal, or one plus something.
func noTuple(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Literal:
		return true
	case *syntax.UnaryExpr:
		return true
	case *syntax.ParenExpr:
		return noTuple(x.X)
	case *syntax.BinaryExpr:
		return x.Op != syntax.STAR && x.Op != syntax.AND && x.Op != syntax.OR && (noTuple(x.X) || noTuple(x.Y))
	}
	return false
}

func starred(args []syntax.Expr) bool {
	for _, a := range args {
		if u, ok := a.(*syntax.UnaryExpr); ok && (u.Op == syntax.STAR || u.Op == syntax.STARSTAR) {
			return true
		}
	}
	return false
}

// takesKey reports whether the first argument of a method is a key of a dict or an element of a
// set.
func takesKey(method string) bool {
	switch method {
	case "get", "pop", "setdefault", "add", "discard", "remove":
		return true
	}
	return false
}

// checkFirst is the check of such a method that is not called by its name.
func checkFirst(self starlark.Value, args []starlark.Value) error {
	switch self.(type) {
	case *starlark.Dict, *starlark.Set:
		if len(args) > 0 {
			return checkKey(args[0])
		}
	}
	return nil
}

// checkMembers is the check of a method that takes many elements: of a list, a set or, as pairs, a
// dict.
func checkMembers(self starlark.Value, args []starlark.Value) error {
	if err := checkElems(self, args); err != nil {
		return err
	}
	switch self.(type) {
	case *starlark.Dict:
		return checkPairs(args)
	case *starlark.Set:
		return checkAll(args)
	}
	return nil
}

// checkAll checks the elements of what becomes a set.
func checkAll(args []starlark.Value) error {
	for _, a := range args {
		it, ok := a.(starlark.Iterable)
		if !ok {
			continue
		}
		for e := range starlark.Elements(it) {
			if err := checkKey(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPairs checks the first of each pair that becomes an entry of a dict.
func checkPairs(args []starlark.Value) error {
	for _, a := range args {
		it, ok := a.(starlark.Iterable)
		if _, keys := a.(starlark.IterableMapping); !ok || keys {
			continue
		}
		for pair := range starlark.Elements(it) {
			if err := checkPair(pair); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPair(pair starlark.Value) error {
	it, ok := pair.(starlark.Iterable)
	if !ok {
		return nil // the library refuses it
	}
	for key := range starlark.Elements(it) {
		return checkKey(key)
	}
	return nil
}

// boundedKeys are the library's builtins that hash.
func boundedKeys() starlark.StringDict {
	of := func(name string, check func([]starlark.Value) error) starlark.Value {
		return starlark.NewBuiltin(name, func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			if err := check(args); err != nil {
				return nil, fmt.Errorf("%s: %w", b.Name(), err)
			}
			return starlark.Call(t, starlark.Universe[name], args, kwargs)
		})
	}
	return starlark.StringDict{"dict": of("dict", checkPairs), "set": of("set", checkAll)}
}
