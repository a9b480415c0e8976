package starlark

import (
	"crypto/md5"  //nolint:gosec // scripts name things by it, nothing is protected
	"crypto/sha1" //nolint:gosec // as md5
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// hashModule provides hash.md5(s), hash.sha1(s) and hash.sha256(s). They return hexadecimal digits.
func hashModule() *starlarkstruct.Module {
	return module("hash", map[string]builtin{
		"md5":    hashOf(func(b []byte) []byte { h := md5.Sum(b); return h[:] }),  //nolint:gosec // as above
		"sha1":   hashOf(func(b []byte) []byte { h := sha1.Sum(b); return h[:] }), //nolint:gosec // as above
		"sha256": hashOf(func(b []byte) []byte { h := sha256.Sum256(b); return h[:] }),
	})
}

func hashOf(sum func([]byte) []byte) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var s string
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "string", &s); err != nil {
			return nil, err
		}
		return starlark.String(hex.EncodeToString(sum([]byte(s)))), nil
	}
}

// base64Module provides base64.encode(src, encoding="standard") and base64.decode(src, …).
func base64Module() *starlarkstruct.Module {
	return module("base64", map[string]builtin{
		"encode": base64Func(func(e *base64.Encoding, s string) (string, error) {
			return e.EncodeToString([]byte(s)), nil
		}),
		"decode": base64Func(func(e *base64.Encoding, s string) (string, error) {
			b, err := e.DecodeString(s)
			return string(b), err
		}),
	})
}

func base64Func(f func(*base64.Encoding, string) (string, error)) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var src string
		encoding := "standard"
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "src", &src, "encoding?", &encoding); err != nil {
			return nil, err
		}
		var e *base64.Encoding
		switch encoding {
		case "standard":
			e = base64.StdEncoding
		case "standard_raw":
			e = base64.RawStdEncoding
		case "url":
			e = base64.URLEncoding
		case "url_raw":
			e = base64.RawURLEncoding
		default:
			return nil, fmt.Errorf("%s: unknown encoding %q: standard, standard_raw, url and url_raw are known", b.Name(), encoding)
		}
		s, err := f(e, src)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
		return starlark.String(s), nil
	}
}

// yamlModule provides yaml.loads(source) for one document (also as decode), and yaml.dumps(obj)
// in block style (also as encode).
func yamlModule() *starlarkstruct.Module {
	return module("yaml", map[string]builtin{
		"loads": yamlLoads, "decode": yamlLoads,
		"dumps": yamlDumps, "encode": yamlDumps,
	})
}

func yamlLoads(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var source string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "source", &source); err != nil {
		return nil, err
	}
	doc, err := yamldoc.One([]byte(source))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	if doc == nil {
		return starlark.None, nil
	}
	v, err := newConverter(maxText).value(doc, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return v, nil
}

func yamlDumps(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var obj starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "obj", &obj); err != nil {
		return nil, err
	}
	n, err := newConverter(maxText).node(obj, nil, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	if yamlSize(n, 0) > maxText {
		return nil, fmt.Errorf("%s: %w", b.Name(), errTooLong)
	}
	s, err := yaml.NewRNode(n).String()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return starlark.String(s), nil
}

// yamlSize returns an upper bound on the length of a node as YAML, in which each line has the
// indents of the values around it.
func yamlSize(n *yaml.Node, depth int) int {
	if len(n.Content) == 0 {
		return printed(n.Value) + (2+strings.Count(n.Value, "\n"))*2*(depth+1)
	}
	size := 0
	for _, e := range n.Content {
		size += yamlSize(e, depth+1)
	}
	return size
}

// csvModule provides csv.read_all(source, comma=",", comment="", lazy_quotes=False,
// trim_leading_space=False, skip=0) and csv.write_all(source, comma=",").
func csvModule() *starlarkstruct.Module {
	return module("csv", map[string]builtin{"read_all": csvRead, "write_all": csvWrite})
}

func csvRead(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var source, comment string
	var lazy, trim bool
	var skip, fields int
	comma := ","
	err := starlark.UnpackArgs(b.Name(), args, kwargs, "source", &source, "comma?", &comma, "comment?", &comment,
		"lazy_quotes?", &lazy, "trim_leading_space?", &trim, "fields_per_record?", &fields, "skip?", &skip)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(strings.NewReader(source))
	r.LazyQuotes, r.TrimLeadingSpace, r.FieldsPerRecord = lazy, trim, fields
	if r.Comma, err = oneRune(comma); err != nil {
		return nil, fmt.Errorf("%s: comma: %w", b.Name(), err)
	}
	if comment != "" {
		if r.Comment, err = oneRune(comment); err != nil {
			return nil, fmt.Errorf("%s: comment: %w", b.Name(), err)
		}
	}
	if skip < 0 {
		return nil, fmt.Errorf("%s: skip is less than 0", b.Name())
	}
	if strings.Count(source, comma) > maxElems { // one record could have all of them
		return nil, fmt.Errorf("%s: %w", b.Name(), errTooMany)
	}
	var rows []starlark.Value
	for count := 0; ; skip-- {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return starlark.NewList(rows), nil
		}
		if count += len(record); err == nil && count > maxElems {
			err = errTooMany
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
		if skip > 0 {
			continue
		}
		row := make([]starlark.Value, 0, len(record))
		for _, f := range record {
			row = append(row, starlark.String(f))
		}
		rows = append(rows, starlark.NewList(row))
	}
}

func csvWrite(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var source starlark.Iterable
	comma := ","
	err := starlark.UnpackArgs(b.Name(), args, kwargs, "source", &source, "comma?", &comma)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	w := csv.NewWriter(&out)
	if w.Comma, err = oneRune(comma); err != nil {
		return nil, fmt.Errorf("%s: comma: %w", b.Name(), err)
	}
	size := 0
	for v := range starlark.Elements(source) {
		row, ok := v.(starlark.Iterable)
		if !ok {
			return nil, fmt.Errorf("%s: a row is of type %s, not a list", b.Name(), v.Type())
		}
		var record []string
		for f := range starlark.Elements(row) {
			n, err := weigh(f)
			if size += n; err == nil && size > maxText {
				err = errTooLong
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", b.Name(), err)
			}
			s, ok := starlark.AsString(f)
			if !ok {
				s = f.String()
			}
			record = append(record, s)
		}
		if err := w.Write(record); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
	}
	w.Flush()
	return starlark.String(out.String()), nil
}

func oneRune(s string) (rune, error) {
	r := []rune(s)
	if len(r) != 1 {
		return 0, errors.New("it must be one character")
	}
	return r[0], nil
}
