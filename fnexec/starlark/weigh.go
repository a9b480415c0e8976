package starlark

import (
	"fmt"
	"iter"
	"maps"
	"strconv"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// maxPrinted bounds the depth of a printed value. The library recurses, and an exhausted stack
// ends the process.
const maxPrinted = 10_000

// sizer adds up the size of values as text.
type sizer struct {
	bytes, nodes int
	inside       bool                    // functions count with the values that they keep
	open         map[starlark.Value]bool // values around the current one, which print as [...]
}

// weigh returns the approximate length of values as text, or an error if they are too large or
// too deep to be printed.
func weigh(values ...starlark.Value) (int, error) {
	s := &sizer{open: map[starlark.Value]bool{}}
	for _, v := range values {
		if err := s.add(v, 0); err != nil {
			return 0, err
		}
	}
	return s.bytes, nil
}

// weighFrozen is weigh for a value that is to be frozen: freezing also recurses into what a
// function or a method keeps.
func weighFrozen(v starlark.Value) error {
	return (&sizer{inside: true, open: map[starlark.Value]bool{}}).add(v, 0)
}

func (s *sizer) add(v starlark.Value, depth int) error {
	if s.nodes++; s.nodes > maxNodes {
		return fmt.Errorf("it holds more than %d values", maxNodes)
	}
	if depth > maxPrinted {
		return fmt.Errorf("it is nested more than %d deep", maxPrinted)
	}
	s.bytes += 8 // for a number, or brackets
	switch v := v.(type) {
	case starlark.String:
		s.bytes += printed(string(v))
	case starlark.Bytes:
		s.bytes += printed(string(v))
	case starlark.NoneType, starlark.Bool:
	case starlark.Float:
		s.bytes += 16
	case starlark.Int:
		s.bytes += bits(v) / 3
	case *starlark.Dict:
		return s.within(v, depth, func(yield func(starlark.Value) bool) {
			for k, e := range v.Entries() {
				if !yield(k) || !yield(e) {
					return
				}
			}
		})
	case starlark.Tuple:
		for _, e := range v {
			if err := s.add(e, depth+1); err != nil {
				return err
			}
		}
	case *starlark.List:
		return s.within(v, depth, v.Elements())
	case *starlark.Set:
		return s.within(v, depth, v.Elements())
	case starlark.Iterable: // of characters or integers
		for e := range starlark.Elements(v) {
			if err := s.add(e, depth+1); err != nil {
				return err
			}
		}
	case *starlarkstruct.Struct:
		return s.fields(v, depth)
	case starlark.Callable:
		return s.callable(v, depth)
	default:
		s.bytes += 256 + len(v.String()) // JSON has the attributes of a time
	}
	if s.bytes > maxText {
		return errTooLong
	}
	return nil
}

// within adds the elements of a value, unless the value contains itself.
func (s *sizer) within(v starlark.Value, depth int, elems iter.Seq[starlark.Value]) error {
	if s.open[v] {
		return nil
	}
	s.open[v] = true
	defer delete(s.open, v)
	for e := range elems {
		if err := s.add(e, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// callable adds a function or a method, which prints as its name.
func (s *sizer) callable(v starlark.Callable, depth int) error {
	s.bytes += 256
	if !s.inside {
		return nil
	}
	switch v := v.(type) {
	case *starlark.Function:
		return s.within(v, depth, keptBy(v))
	case *starlark.Builtin:
		if self := v.Receiver(); self != nil {
			return s.add(self, depth+1)
		}
	}
	return nil
}

// keptBy yields the defaults of a function's parameters and the variables around it.
func keptBy(f *starlark.Function) iter.Seq[starlark.Value] {
	return func(yield func(starlark.Value) bool) {
		for i := range f.NumParams() {
			if v := f.ParamDefault(i); v != nil && !yield(v) {
				return
			}
		}
		for i := range f.NumFreeVars() {
			if _, v := f.FreeVar(i); v != nil && !yield(v) {
				return
			}
		}
	}
}

// fields adds the fields of a struct. The library forgets around a struct what is printed already,
// so a struct in itself is too deep.
func (s *sizer) fields(v *starlarkstruct.Struct, depth int) error {
	open := s.open
	defer func() { s.open = open }()
	s.open = map[starlark.Value]bool{}
	for _, name := range v.AttrNames() {
		s.bytes += len(name)
		e, err := v.Attr(name)
		if err == nil {
			err = s.add(e, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printed returns an upper bound on the length of a text in quotes, as in JSON or in Starlark.
func printed(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
			n += 2
		case r == '<' || r == '>' || r == '&' || r == utf8.RuneError:
			n += 6
		case !strconv.IsPrint(r):
			n += 10
		default:
			n += utf8.RuneLen(r)
		}
	}
	return n
}

// weighed wraps a builtin that prints its arguments. It refuses too large ones.
func weighed(inner starlark.Value, name string) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		n, err := weigh(everything(args, kwargs)...)
		for _, kv := range kwargs { // a separator
			if n += len(args) * max(starlark.Len(kv[1]), 0); err == nil && n > maxText {
				err = errTooLong
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return starlark.Call(t, inner, args, kwargs)
	})
}

func everything(args starlark.Tuple, kwargs []starlark.Tuple) []starlark.Value {
	all := append([]starlark.Value{}, args...)
	for _, kv := range kwargs {
		all = append(all, kv[1])
	}
	return all
}

// boundedUniverse returns the library's builtins that can make a large value in one step, with
// bounds.
func boundedUniverse() starlark.StringDict {
	d := starlark.StringDict{
		"log":     weighed(starlark.NewBuiltin("log", log), "log"),
		"range":   starlark.NewBuiltin("range", boundedRange),
		"int":     starlark.NewBuiltin("int", boundedInt),
		"bytes":   starlark.NewBuiltin("bytes", sized(universal("bytes"))),
		"getattr": starlark.NewBuiltin("getattr", boundedGetattr),
	}
	maps.Copy(d, boundedKeys())
	for _, name := range []string{"zip", "enumerate"} {
		d[name] = starlark.NewBuiltin(name, counted(universal(name)))
	}
	for _, name := range []string{"str", "repr", "print", "fail"} {
		d[name] = weighed(starlark.Universe[name], name)
	}
	return d
}

func universal(name string) builtin {
	return func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return starlark.Call(t, starlark.Universe[name], args, kwargs)
	}
}

// counted bounds the elements of all arguments: the same list may be given a thousand times.
func counted(f builtin) builtin {
	return func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := checkElems(nil, everything(args, kwargs)); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
		return f(t, b, args, kwargs)
	}
}

// boundedInt is the library's int with a bound. Its time is quadratic in the digits.
func boundedInt(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	for _, a := range everything(args, kwargs) {
		if s, ok := starlark.AsString(a); ok && len(s) > maxDigits {
			return nil, fmt.Errorf("%s: %w", b.Name(), errTooWide)
		}
	}
	return universal("int")(t, b, args, kwargs)
}

// boundedGetattr guards getattr, which reaches the guarded methods too.
func boundedGetattr(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) >= 2 {
		if name, ok := starlark.AsString(args[1]); ok && guardedMethods(name) != nil {
			self, err := receiver(t, nil, args[:1], nil)
			if err != nil {
				return nil, err
			}
			args = append(starlark.Tuple{self}, args[1:]...)
		}
	}
	return starlark.Call(t, starlark.Universe["getattr"], args, kwargs)
}
