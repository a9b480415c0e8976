package edit

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// scalar replaces a scalar, in its own quotes if they allow the value.
func (e *editor) scalar(p place, old, want *yaml.Node) error {
	sp := e.src.spans[old]
	isText := tagOf(want) == yaml.NodeTagString
	switch {
	case sp.token == sp.end || old.Style&yaml.TaggedStyle != 0 || p.in == nil:
		return e.replace(p, old, want)
	case e.doc.JSON:
		e.splice(p.in, splice{sp.token, sp.end, jsonScalar(want)})
		return nil
	case isText && old.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 && !p.flow:
		if start, text, ok := e.blockText(p, old, want.Value); ok {
			e.splice(p.in, splice{start, sp.end, text})
			return nil
		}
	case isText && old.Style == 0 && !p.flow && strings.Contains(want.Value, "\n") && literalOK(want.Value) && e.src.lastOnLine(sp.end):
		pr := e.printer()
		header, body := pr.literal(want.Value, p.col+e.printer().style.step)
		e.splice(p.in, splice{sp.token, sp.end, header})
		e.insertLines(p.in, sp.end, body+"\n")
		return nil
	}
	n := *want
	if isText && old.Style&^yaml.TaggedStyle != 0 {
		n.Style = old.Style
	} else if isText && tagOf(old) == yaml.NodeTagString {
		n.Style = 0
	}
	pr := e.printer()
	text := pr.token(&n, p.flow)
	if !p.flow && e.src.lastOnLine(sp.end) && e.src.lineStart(sp.token) == e.src.lineStart(sp.end) && sp.token == sp.start {
		e.tokens = append(e.tokens, token{p, old, want, text})
	}
	e.splice(p.in, splice{sp.token, sp.end, text})
	return nil
}

// token is a scalar on one line that is replaced by another one on one line.
type token struct {
	place     place
	old, want *yaml.Node
	text      string
}

// tokensHold reads each line in which a scalar was replaced, and reports whether it has the wanted
// value. Nothing else can have changed then, and the rest of the text is not read again.
func (e *editor) tokensHold() bool {
	for _, t := range e.tokens {
		sp := e.src.spans[t.old]
		start := e.src.lineStart(sp.start) + t.place.col
		line := e.src.text[start:sp.token] + t.text + e.src.text[sp.end:e.src.lineEnd(sp.end)] + "\n"
		doc, err := yamldoc.Source([]byte(line))
		if err != nil || doc == nil {
			return false
		}
		in := doc.Content[0]
		if in.Kind != t.place.in.Kind || len(in.Content) == 0 || !sameScalar(in.Content[len(in.Content)-1], t.want) {
			return false
		}
		if in.Kind == yaml.MappingNode && len(in.Content) != 2 || in.Kind == yaml.SequenceNode && len(in.Content) != 1 {
			return false
		}
	}
	return true
}

// blockText returns what replaces a literal or folded scalar from an offset to its end, with the
// lines that are the same as they are.
func (e *editor) blockText(p place, old *yaml.Node, value string) (start int, text string, ok bool) {
	sp := e.src.spans[old]
	if !literalOK(value) {
		return 0, "", false
	}
	header := e.src.text[sp.token:e.src.lineEnd(sp.token)]
	first := min(e.src.lineEnd(sp.token)+1, sp.end)
	lines := strings.Split(e.src.text[first:sp.end], "\n")
	by := p.col + e.printer().style.step
	for _, line := range lines {
		if strings.Trim(line, " ") != "" && !strings.ContainsAny(header, "123456789") {
			by = len(line) - len(strings.TrimLeft(line, " "))
			break
		}
	}
	folded := old.Style&yaml.FoldedStyle != 0
	body, ends := value, 0
	for strings.HasSuffix(body, "\n") {
		body, ends = body[:len(body)-1], ends+1
	}
	var fresh []string
	if folded {
		if fresh, ok = foldedLines(body, old.Value, trimAll(lines)); !ok {
			return 0, "", false
		}
	} else {
		fresh = strings.Split(body, "\n")
	}
	for range ends - 1 {
		fresh = append(fresh, "")
	}
	return sp.token, blockHeader(header, body, blockShape{by - p.col, ends}) + "\n" + indented(fresh, lines, by), true
}

// blockShape is what the header of a block scalar depends on.
type blockShape struct{ indent, ends int }

// blockHeader returns the first line of a block scalar for another value.
func blockHeader(header, body string, s blockShape) string {
	mark, comment := header, ""
	if i := strings.Index(header, " #"); i >= 0 {
		mark, comment = strings.TrimRight(header[:i], " \t"), header[i:]
	}
	out := mark[:1]
	if strings.ContainsAny(mark, "123456789") || body == "" || body[0] == ' ' || body[0] == '\n' {
		out += fmt.Sprint(s.indent)
	}
	switch {
	case s.ends == 0:
		out += "-"
	case s.ends > 1 || strings.Contains(mark, "+"):
		out += "+"
	}
	return out + comment
}

// indented returns lines with an indentation. Those at the beginning and at the end that are the
// same as before keep their bytes.
func indented(fresh, old []string, by int) string {
	out := make([]string, len(fresh))
	pad := strings.Repeat(" ", by)
	for i, line := range fresh {
		if out[i] = pad + line; line == "" {
			out[i] = ""
		}
	}
	same := func(line, before string) bool {
		return line == before || strings.Trim(line+before, " ") == "" && len(before) <= by
	}
	a := 0
	for a < len(out) && a < len(old) && same(out[a], old[a]) {
		out[a] = old[a]
		a++
	}
	for b := 1; b <= len(out)-a && b <= len(old)-a && same(out[len(out)-b], old[len(old)-b]); b++ {
		out[len(out)-b] = old[len(old)-b]
	}
	return strings.Join(out, "\n")
}

func trimAll(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.Trim(line, " ")
	}
	return out
}

// foldedLines breaks the paragraphs of a folded scalar where the old text does.
func foldedLines(body, old string, lines []string) (out []string, ok bool) {
	var before [][]string // the lines of each old paragraph
	open := false
	for _, line := range lines {
		if line == "" {
			open = false
			continue
		}
		if !open {
			before, open = append(before, nil), true
		}
		before[len(before)-1] = append(before[len(before)-1], line)
	}
	for i, paragraph := range strings.Split(body, "\n") {
		if paragraph == "" || paragraph != strings.Trim(paragraph, " \t") {
			return nil, false
		}
		if i > 0 {
			out = append(out, "")
		}
		var hints []string
		if i < len(before) {
			hints = before[i]
		}
		out = append(out, wrapLike(paragraph, hints)...)
	}
	return out, old != ""
}

// wrapLike breaks a text into the lines that it had, but for those that changed.
func wrapLike(text string, lines []string) []string {
	var head, tail []string
	for len(lines) > 0 && strings.HasPrefix(text, lines[0]+" ") {
		head, text, lines = append(head, lines[0]), text[len(lines[0])+1:], lines[1:]
	}
	for len(lines) > 0 && strings.HasSuffix(text, " "+lines[len(lines)-1]) {
		last := lines[len(lines)-1]
		tail, text, lines = append([]string{last}, tail...), text[:len(text)-len(last)-1], lines[:len(lines)-1]
	}
	return append(append(head, text), tail...)
}

// literalOK reports whether a text can be a literal scalar.
func literalOK(s string) bool {
	return strings.Trim(s, "\n") != "" && printable(strings.ReplaceAll(s, "\n", ""), true)
}

// printable reports whether YAML allows the characters of a text without an escape.
func printable(s string, tabs bool) bool {
	for _, r := range s {
		switch {
		case r == '\t' && tabs:
		case r < ' ', r >= 0x7f && r < 0xa0, r == '\u2028', r == '\u2029', r == '\ufeff', r == utf8.RuneError, r == 0xfffe, r == 0xffff:
			return false
		}
	}
	return true
}

// double prints a text in double quotes, as JSON would.
func double(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\t':
			out.WriteString(`\t`)
		case r == '\r':
			out.WriteString(`\r`)
		case r != utf8.RuneError && !printable(string(r), false):
			fmt.Fprintf(&out, `\u%04X`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
