package fnexec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonAsYAML rewrites a JSON document so that the YAML parser reads it as JSON. ok is false if it
// is not JSON. Nearly all JSON is valid YAML. The parser rejects the escape \/, surrogate pairs
// (Python writes them), tabs between values, and control characters above U+001F. It turns
// line breaks of YAML that are none in JSON into spaces. The lines keep their numbers.
func jsonAsYAML(data []byte) (text []byte, ok bool) {
	if rest, found := bytes.CutPrefix(data, []byte("---")); found {
		data = rest
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if !json.Valid(data) {
		return nil, false
	}
	out := make([]byte, 0, len(data))
	for len(data) > 0 {
		c, n := data[0], 1
		switch {
		case c == '\t': // strings in JSON contain none
			out = append(out, ' ')
		case c == 0x7f:
			out = append(out, `\u007f`...)
		case c == '\\':
			out, n = appendEscape(out, data)
		case c >= utf8.RuneSelf:
			out, n = appendWide(out, data)
		default:
			out = append(out, c)
		}
		data = data[n:]
	}
	return out, true
}

// wideBreaks returns the line breaks that exist in YAML 1.1 alone.
func wideBreaks() []string { return []string{"\u0085", "\u2028", "\u2029"} }

func hasWideBreak(data []byte) bool {
	return slices.ContainsFunc(wideBreaks(), func(s string) bool { return bytes.Contains(data, []byte(s)) })
}

// appendWide writes the non-ASCII character at the beginning of data, and returns its length.
func appendWide(out, data []byte) ([]byte, int) {
	r, n := utf8.DecodeRune(data)
	if slices.Contains(wideBreaks(), string(r)) || r < 0xa0 || r == '\uFEFF' || r == '\uFFFE' || r == '\uFFFF' {
		return fmt.Appendf(out, `\u%04x`, r), n
	}
	return append(out, data[:n]...), n
}

// appendEscape writes the escape at the beginning of data, and returns its length.
func appendEscape(out, data []byte) ([]byte, int) {
	switch data[1] {
	case '/':
		return append(out, '/'), 2
	case 'u':
	default:
		return append(out, data[:2]...), 2
	}
	first := codeUnit(data)
	if !utf16.IsSurrogate(first) {
		return append(out, data[:6]...), 6
	}
	// DecodeRune returns U+FFFD for half of a pair, as encoding/json does.
	pair := utf16.DecodeRune(first, codeUnit(data[6:]))
	n := 12
	if pair == '\uFFFD' {
		n = 6
	}
	return fmt.Appendf(out, `\U%08x`, pair), n
}

// codeUnit parses \uXXXX; -1 for anything else.
func codeUnit(data []byte) rune {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return -1
	}
	v, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(v)
}
