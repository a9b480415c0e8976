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
		if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &s); err != nil {
			return nil, err
		}
		return starlark.String(hex.EncodeToString(sum([]byte(s)))), nil
	}
}

// base64Module provides base64.encode(data, encoding="standard") and base64.decode(data, …).
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
		var data, encoding string
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "data", &data, "encoding?", &encoding); err != nil {
			return nil, err
		}
		var e *base64.Encoding
		switch encoding {
		case "", "standard":
			e = base64.StdEncoding
		case "standard_raw":
			e = base64.RawStdEncoding
		case "url":
			e = base64.URLEncoding
		case "url_raw":
			e = base64.RawURLEncoding
		default:
			return nil, fmt.Errorf("%s: unsupported encoding format: %q: standard, standard_raw, url and url_raw are known", b.Name(), encoding)
		}
		s, err := f(e, data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
		return starlark.String(s), nil
	}
}

// csvModule provides csv.read_all(source, comma=",", comment="", lazy_quotes=False,
// trim_leading_space=False, fields_per_record=0, skip=0) and csv.write_all(source, comma=",").
func csvModule() *starlarkstruct.Module {
	return module("csv", map[string]builtin{"read_all": csvRead, "write_all": csvWrite})
}

func csvRead(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var source, comma, comment string
	var lazy, trim bool
	var skip, fields starlark.Int
	err := starlark.UnpackArgs(b.Name(), args, kwargs, "source", &source, "comma?", &comma, "comment", &comment,
		"lazy_quotes", &lazy, "trim_leading_space", &trim, "fields_per_record", &fields, "skip", &skip)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(strings.NewReader(newlines(source)))
	r.LazyQuotes, r.TrimLeadingSpace = lazy, trim
	if r.Comma, err = oneByte("comma", comma, ','); err == nil {
		r.Comment, err = oneByte("comment", comment, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	if n, ok := fields.Int64(); ok {
		r.FieldsPerRecord = int(n)
	}
	if strings.Count(source, string(r.Comma)) > maxElems { // one record could have all of them
		return nil, fmt.Errorf("%s: %w", b.Name(), errTooMany)
	}
	if n, ok := skip.Int64(); ok {
		// What is skipped may have errors.
		for ; n > 0; n-- {
			if _, err := r.Read(); errors.Is(err, io.EOF) {
				break
			}
		}
	}
	rows, err := csvRows(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return starlark.NewList(rows), nil
}

// newlines replaces a carriage return that no newline follows with a newline.
func newlines(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

func csvRows(r *csv.Reader) ([]starlark.Value, error) {
	var rows []starlark.Value
	for count := 0; ; {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if count += len(record); err == nil && count > maxElems {
			err = errTooMany
		}
		if err != nil {
			return nil, err
		}
		row := make([]starlark.Value, 0, len(record))
		for _, f := range record {
			row = append(row, starlark.String(f))
		}
		rows = append(rows, starlark.NewList(row))
	}
}

// csvWrite prints values in a cell as Go does: None is <nil>, and 1.0 is 1. So it is in starlib.
func csvWrite(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var source starlark.Value
	var comma string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "source", &source, "comma?", &comma); err != nil {
		return nil, err
	}
	text, err := csvText(source, comma)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return starlark.String(text), nil
}

func csvText(source starlark.Value, comma string) (string, error) {
	var out strings.Builder
	var err error
	w := csv.NewWriter(&out)
	if w.Comma, err = oneByte("comma", comma, ','); err != nil {
		return "", err
	}
	v, err := toNative(source)
	if err != nil {
		return "", err
	}
	rows, ok := v.([]any)
	if !ok {
		return "", errors.New("expected value to be an array type")
	}
	for i, row := range rows {
		cells, ok := row.([]any)
		if !ok {
			return "", fmt.Errorf("row %d is not an array type", i)
		}
		record := make([]string, 0, len(cells))
		for _, cell := range cells {
			record = append(record, fmt.Sprint(cell))
		}
		if err := w.Write(record); err != nil {
			return "", err
		}
	}
	w.Flush()
	return out.String(), nil
}

// oneByte returns the character that a parameter names, or a default.
func oneByte(param, s string, other rune) (rune, error) {
	switch len(s) {
	case 0:
		return other, nil
	case 1:
		return rune(s[0]), nil
	}
	return 0, fmt.Errorf("expected %s param to be a single-character string", param)
}
