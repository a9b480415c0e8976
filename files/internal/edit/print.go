package edit

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// style is how a document is indented.
type style struct {
	step   int // of the fields of a mapping inside another one
	offset int // of the dashes of a list from the key above it: 0 for compact
}

// styleOf returns the style of most of a document.
func styleOf(s *source, top *yaml.Node) style {
	steps, offsets := map[int]int{}, map[int]int{}
	column := func(n *yaml.Node) int {
		at := s.spans[n].token
		return at - s.lineStart(at)
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i, c := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 1 && isBlock(n) && isBlock(c) && len(c.Content) > 0 {
				by := column(c) - column(n)
				if c.Kind == yaml.MappingNode {
					steps[by]++
				} else {
					offsets[by]++
				}
			}
			walk(c)
		}
	}
	walk(top)
	return style{step: most(steps, 2), offset: most(offsets, 0)}
}

// most returns the value that was seen most often, the smallest of several.
func most(seen map[int]int, otherwise int) int {
	best := otherwise
	for by, n := range seen {
		if n > seen[best] || n == seen[best] && by < best {
			best = by
		}
	}
	return max(best, 0)
}

// printer prints trees without aliases in block style.
type printer struct {
	style style
	out   strings.Builder
}

// document prints the value of a document.
func (p *printer) document(n *yaml.Node) string {
	if !isBlock(n) || len(n.Content) == 0 {
		return p.token(n, false) + "\n"
	}
	return p.lines(n, 0)
}

// lines prints a collection from the beginning of a line.
func (p *printer) lines(n *yaml.Node, col int) string {
	p.out.Reset()
	p.entries(n, col, false)
	return p.out.String()
}

// inline prints a collection behind a dash, without the last line end.
func (p *printer) inline(n *yaml.Node, col int) string {
	p.out.Reset()
	p.entries(n, col, true)
	return strings.TrimSuffix(p.out.String(), "\n")
}

// below prints a collection below its key.
func (p *printer) below(n *yaml.Node, col int) string {
	p.out.Reset()
	p.remark(n.HeadComment, p.inner(n, col))
	p.entries(n, p.inner(n, col), false)
	return p.out.String()
}

// inner returns the column of what stands below a key.
func (p *printer) inner(n *yaml.Node, col int) int {
	if n.Kind == yaml.SequenceNode {
		return col + p.style.offset
	}
	return col + p.style.step
}

func (p *printer) entries(n *yaml.Node, col int, begun bool) {
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	for i := 0; i+step <= len(n.Content); i += step {
		first := n.Content[i]
		if !begun || i > 0 {
			head := first.HeadComment
			if step == 1 && head == "" && first.Kind == yaml.MappingNode && len(first.Content) > 0 {
				head = first.Content[0].HeadComment
			}
			p.remark(head, col)
			p.out.WriteString(strings.Repeat(" ", col))
		}
		if step == 1 {
			p.item(first, col)
			p.remark(first.FootComment, col)
			continue
		}
		p.field(first, n.Content[i+1], col)
		p.remark(first.FootComment, col)
	}
}

// item prints an item from its dash on.
func (p *printer) item(n *yaml.Node, col int) {
	p.out.WriteByte('-')
	if isBlock(n) && len(n.Content) > 0 {
		p.out.WriteByte(' ')
		p.entries(n, col+2, true)
		return
	}
	p.inlineValue(n, n.LineComment, col)
}

// field prints a field from its key on.
func (p *printer) field(k, v *yaml.Node, col int) {
	p.out.WriteString(p.key(k, false) + ":")
	line := k.LineComment
	if line == "" {
		line = v.LineComment
	}
	if !isBlock(v) || len(v.Content) == 0 {
		p.inlineValue(v, line, col)
		return
	}
	p.trail(line)
	p.out.WriteByte('\n')
	p.remark(v.HeadComment, p.inner(v, col))
	p.entries(v, p.inner(v, col), false)
}

// inlineValue prints a value in the line of its key or dash.
func (p *printer) inlineValue(n *yaml.Node, comment string, col int) {
	multiple := n.Kind == yaml.ScalarNode && tagOf(n) == yaml.NodeTagString && strings.Contains(n.Value, "\n")
	if multiple && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 && literalOK(n.Value) {
		header, body := p.literal(n.Value, col+p.style.step)
		p.out.WriteString(" " + header)
		p.trail(comment)
		p.out.WriteString("\n" + body + "\n")
		return
	}
	p.out.WriteString(" " + p.token(n, false))
	p.trail(comment)
	p.out.WriteByte('\n')
}

// literal prints a text as a literal scalar: its header, and its lines.
func (p *printer) literal(s string, col int) (header, body string) {
	text, ends := s, 0
	for strings.HasSuffix(text, "\n") {
		text, ends = text[:len(text)-1], ends+1
	}
	lines := strings.Split(text, "\n")
	for range ends - 1 {
		lines = append(lines, "")
	}
	return blockHeader("|", text, blockShape{p.style.step, ends}), indented(lines, nil, col)
}

// remark prints a comment in lines of its own.
func (p *printer) remark(text string, col int) {
	for _, line := range remarkLines(text) {
		if line != "" {
			line = strings.Repeat(" ", col) + line
		}
		p.out.WriteString(line + "\n")
	}
}

// trail prints a comment at the end of a line.
func (p *printer) trail(text string) {
	if lines := remarkLines(text); len(lines) > 0 {
		p.out.WriteString(" " + lines[0])
	}
}

// remarkLines returns the lines of a comment, each of which begins as a comment must.
func remarkLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r", ""), "\n")
	for i, line := range lines {
		if line = strings.TrimLeft(line, " \t"); line != "" && line[0] != '#' {
			line = "# " + line
		}
		lines[i] = line
	}
	return lines
}

// key prints a key.
func (p *printer) key(k *yaml.Node, flow bool) string {
	if k.ShortTag() == yaml.NodeTagNull { // a key is text: what is read must be what is written
		k = &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: k.Value, Style: yaml.DoubleQuotedStyle}
	}
	around := func(token string) string { return token + ": 1" }
	if flow {
		around = func(token string) string { return "{" + token + ": 1}" }
	}
	return pick(k, around, func(got *yaml.Node) *yaml.Node {
		if got.Kind != yaml.MappingNode || len(got.Content) != 2 {
			return nil
		}
		return got.Content[0]
	})
}

// token prints a scalar, an empty collection or one in brackets on one line.
func (p *printer) token(n *yaml.Node, flow bool) string {
	if n.Kind != yaml.ScalarNode {
		return p.flow(n)
	}
	around := func(token string) string { return "- " + token }
	if flow {
		around = func(token string) string { return "[" + token + "]" }
	}
	return pick(n, around, func(got *yaml.Node) *yaml.Node {
		if got.Kind != yaml.SequenceNode || len(got.Content) != 1 {
			return nil
		}
		return got.Content[0]
	})
}

// pick returns the first way to write a scalar on one line that is read as it is meant.
func pick(n *yaml.Node, around func(string) string, inner func(*yaml.Node) *yaml.Node) string {
	for _, token := range candidates(n) {
		doc, err := yamldoc.Source([]byte(around(token)))
		if err != nil || doc == nil {
			continue
		}
		got := inner(doc.Content[0])
		if got != nil && got.Kind == yaml.ScalarNode && got.LineComment == "" && sameScalar(got, n) && !misread(got, n) {
			return token
		}
	}
	return double(n.Value)
}

// misread reports whether another reader could take a plain string for something else: a date, or a
// boolean or a number of YAML 1.1.
func misread(got, n *yaml.Node) bool {
	if got.Style != 0 || tagOf(n) != yaml.NodeTagString {
		return false
	}
	switch strings.ToLower(got.Value) {
	case "y", "yes", "on", "n", "no", "off":
		return true
	}
	times := strings.Contains(got.Value, ":") && strings.Trim(got.Value, "0123456789_:.+-") == ""
	return times || got.ShortTag() == timestampTag && n.ShortTag() != timestampTag
}

// candidates returns the ways to write a scalar, the preferred first.
func candidates(n *yaml.Node) []string {
	single := "'" + strings.ReplaceAll(n.Value, "'", "''") + "'"
	line := printable(n.Value, false)
	switch tag := tagOf(n); {
	case tag == yaml.NodeTagNull && n.Value == "":
		return []string{"null"}
	case tag != yaml.NodeTagString && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 && strings.HasPrefix(tag, "!!") && line:
		return []string{n.Value, tag + " " + n.Value, tag + " " + double(n.Value), fmt.Sprintf("%s %s", tag, single)}
	case tag != yaml.NodeTagString:
		return []string{tag + " " + double(n.Value), n.Value}
	case !line:
		return []string{double(n.Value)}
	case n.Style&yaml.SingleQuotedStyle != 0:
		return []string{single}
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return []string{double(n.Value)}
	}
	return []string{n.Value, double(n.Value)}
}

// flow prints a value in brackets.
func (p *printer) flow(n *yaml.Node) string {
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, p.key(n.Content[i], true)+": "+p.token(n.Content[i+1], true))
		}
		return tagBefore(n) + "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		for _, c := range n.Content {
			parts = append(parts, p.token(c, true))
		}
		return tagBefore(n) + "[" + strings.Join(parts, ", ") + "]"
	}
	return p.token(n, true)
}

// Print prints a new document as kyaml does, with compact or wide lists.
func Print(n *yaml.Node, wide bool) ([]byte, error) {
	if n.Style&yaml.FlowStyle != 0 { // a function wrote JSON
		n = Copy(n)
		plain(n)
		fromJSON(n)
	}
	style := yaml.CompactSequenceStyle
	if wide {
		style = yaml.WideSequenceStyle
	}
	var out bytes.Buffer
	enc := yaml.NewEncoderWithOptions(&out, &yaml.EncoderOptions{SeqIndent: style})
	if err := errors.Join(encode(enc, n), enc.Close()); err != nil {
		return nil, err
	}
	d := Doc{}
	if got, err := d.parse(out.Bytes()); err == nil && Same(got, n) {
		return out.Bytes(), nil
	}
	p := printer{}
	p.style.step = 2
	text := []byte(p.document(n))
	if got, err := d.parse(text); err != nil || !Same(got, n) {
		return nil, ErrNotWritten
	}
	return text, nil
}

// encode makes an error of a panic of the library, which does not expect every tree.
func encode(enc *yaml.Encoder, n *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML printer stopped with an internal error: %v", r)
		}
	}()
	return enc.Encode(n)
}
