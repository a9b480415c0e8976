package starlark

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// scalar converts a scalar. If Starlark has no such type, the value is its text.
func scalar(n *yaml.Node) (starlark.Value, error) {
	switch n.ShortTag() {
	case yaml.NodeTagNull:
		return starlark.None, nil
	case yaml.NodeTagBool:
		var b bool
		if err := n.Decode(&b); err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Line, err)
		}
		return starlark.Bool(b), nil
	case yaml.NodeTagInt:
		return integer(n)
	case yaml.NodeTagFloat:
		var f float64
		if err := n.Decode(&f); err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Line, err)
		}
		return starlark.Float(f), nil
	}
	return starlark.String(n.Value), nil
}

func integer(n *yaml.Node) (starlark.Value, error) {
	if v := n.Value; len(v) < 10 && (v == "0" || v != "" && v[0] >= '1' && v[0] <= '9') {
		if i, err := strconv.Atoi(v); err == nil {
			return starlark.MakeInt(i), nil
		}
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, fmt.Errorf("line %d: %w", n.Line, err)
	}
	switch v := v.(type) {
	case int:
		return starlark.MakeInt(v), nil
	case int64:
		return starlark.MakeInt64(v), nil
	case uint64:
		return starlark.MakeUint64(v), nil
	}
	if len(n.Value) < 1000 {
		if b, ok := new(big.Int).SetString(n.Value, 0); ok {
			return starlark.MakeBigInt(b), nil
		}
	}
	return starlark.String(n.Value), nil
}

// same reports whether two scalars are the same value of the same type.
func same(a, b starlark.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	eq, err := starlark.Equal(a, b)
	return err == nil && eq
}

func newScalar(v starlark.Value) (*yaml.Node, error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagNull, Value: "null"}, nil
	case starlark.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagBool, Value: strconv.FormatBool(bool(v))}, nil
	case starlark.Int:
		return newInt(v), nil
	case starlark.Float:
		f := float64(v)
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, errors.New("a float is not a finite number")
		}
		s := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagFloat, Value: s}, nil
	case starlark.String:
		return newText(string(v))
	}
	return nil, fmt.Errorf("a %s cannot be written as YAML", v.Type())
}

// newInt returns the node of an integer. The printer would add a tag to those beyond 64 bits,
// which it takes for floats.
func newInt(v starlark.Int) *yaml.Node {
	tag := yaml.NodeTagInt
	if _, signed := v.Int64(); !signed {
		if _, unsigned := v.Uint64(); !unsigned {
			tag = yaml.NodeTagFloat
		}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: v.String()}
}

// newText returns the node of a string, in quotes if a reader of YAML 1.1 would take it for
// another type.
func newText(s string) (*yaml.Node, error) {
	if !utf8.ValidString(s) {
		return nil, errors.New("a string is not UTF-8")
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: s}
	if ambiguous(s) && yaml.IsValueNonString(s) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n, nil
}

// ambiguous is a cheap check for texts that may be a number, a date or a special word, so that
// only those have to be parsed.
func ambiguous(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, r := range s {
		if !strings.ContainsRune("+-.:_~=<", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != ' ' {
			return false
		}
	}
	if strings.IndexByte("yYnNtTfFoO", s[0]) >= 0 {
		return len(s) <= len("false") || strings.ContainsAny(s, ": ") // a special word, or a mapping
	}
	return strings.IndexByte("~.+-=<0123456789", s[0]) >= 0
}
