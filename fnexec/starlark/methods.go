package starlark

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// guardedSelf is a string or list of which a method is asked that multiplies, or %.
type guardedSelf struct{ starlark.Value }

// check reports whether a method may be called.
type check func(self starlark.Value, args []starlark.Value) error

// guardedMethods returns the check of a method, nil for one that needs none.
func guardedMethods(name string) check {
	switch name {
	case "extend":
		return checkElems
	case "difference", "intersection", "issubset", "issuperset", "symmetric_difference", "union", "update":
		return checkMembers
	case "get", "pop", "setdefault", "add", "discard", "remove":
		return checkFirst
	case "in_location":
		return checkZone
	case "join":
		return checkJoin
	case "replace":
		return checkReplace
	case "split", "rsplit", "splitlines":
		return checkSplit(name)
	case "format":
		return func(self starlark.Value, args []starlark.Value) error { return checkFormat(self, "{", args) }
	case "capitalize", "lower", "title", "upper":
		return func(starlark.Value, []starlark.Value) error { return nil } // the result is checked
	}
	return nil
}

// Attr implements starlark.HasAttrs.
func (g guardedSelf) Attr(name string) (starlark.Value, error) {
	inner, ok := g.Value.(starlark.HasAttrs)
	if !ok {
		return nil, nil //nolint:nilnil // that is how there is none
	}
	m, err := inner.Attr(name)
	check := guardedMethods(name)
	if err != nil || m == nil || check == nil {
		return m, err
	}
	return starlark.NewBuiltin(name, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := check(g.Value, everything(args, kwargs)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		v, err := starlark.Call(t, m, args, kwargs)
		if s, ok := v.(starlark.String); ok && err == nil && len(s) > max(maxText, starlark.Len(g.Value)) {
			return nil, fmt.Errorf("%s: %w", name, errTooLong)
		}
		return v, err
	}).BindReceiver(g.Value), nil
}

// AttrNames implements starlark.HasAttrs.
func (g guardedSelf) AttrNames() []string {
	if inner, ok := g.Value.(starlark.HasAttrs); ok {
		return inner.AttrNames()
	}
	return nil
}

// Binary implements starlark.HasBinary, for %.
func (g guardedSelf) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	if side == starlark.Right {
		return nil, nil //nolint:nilnil // it is never on the right
	}
	if err := checkFormat(g.Value, "%", []starlark.Value{y}); err != nil {
		return nil, err
	}
	return starlark.Binary(op, g.Value, y)
}

func checkElems(_ starlark.Value, args []starlark.Value) error {
	n := 0
	for _, a := range args {
		if n += length(a); n > maxElems {
			return errTooMany
		}
	}
	return nil
}

// checkSplit returns the check of a method that splits. rsplit splits everywhere first.
func checkSplit(name string) check {
	return func(self starlark.Value, args []starlark.Value) error {
		s, _ := starlark.AsString(self)
		if len(args) > 1 {
			most, _ := args[1].(starlark.Int)
			if n, ok := most.Int64(); !ok || n > maxElems {
				return errTooMany
			} else if name == "split" && n >= 0 {
				return nil
			}
		}
		sep, given := "\n", name == "splitlines"
		if len(args) > 0 && !given {
			sep, given = starlark.AsString(args[0])
		}
		n := 0
		if given {
			n = strings.Count(s, sep)
		} else {
			for range strings.FieldsSeq(s) {
				n++
			}
		}
		if n > maxElems {
			return errTooMany
		}
		return nil
	}
}

func checkJoin(self starlark.Value, args []starlark.Value) error {
	n, err := weigh(args...)
	for _, a := range args {
		if err == nil && n+length(a)*max(starlark.Len(self), 0) > maxText {
			err = errTooLong
		}
	}
	return err
}

func checkReplace(self starlark.Value, args []starlark.Value) error {
	s, ok := starlark.AsString(self)
	if !ok || len(args) < 2 {
		return nil
	}
	old, _ := starlark.AsString(args[0])
	replacement, _ := starlark.AsString(args[1])
	if len(s)+strings.Count(s, old)*(len(replacement)-len(old)) > max(maxText, len(s)) {
		return errTooLong
	}
	return nil
}

// checkFormat takes it that each place of a format prints all arguments.
func checkFormat(self starlark.Value, mark string, args []starlark.Value) error {
	s, ok := starlark.AsString(self)
	if !ok {
		return nil
	}
	n, err := weigh(args...)
	if err != nil {
		return err
	}
	if len(s)+n*strings.Count(s, mark) > maxText {
		return errTooLong
	}
	return nil
}
