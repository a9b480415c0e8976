package edit

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// counts says how often each line of comments occurs.
type counts map[string]int

// add counts the comments of a tree.
func (c counts) add(n *yaml.Node, by int) {
	for _, text := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		for _, line := range remarkLines(text) {
			if line = strings.TrimSpace(line); line != "" {
				c[line] += by
			}
		}
	}
	for _, child := range n.Content {
		c.add(child, by)
	}
}

// without removes the lines that another text has as often; with aliases, those that it has at all:
// their comments are repeated where they are expanded.
func (c counts) without(has counts, aliases bool) {
	for line, n := range has {
		if c[line] -= n; c[line] <= 0 || aliases {
			delete(c, line)
		}
	}
}

// has reports whether a comment is new.
func (c counts) has(text string) bool {
	for _, line := range remarkLines(text) {
		if c[strings.TrimSpace(line)] > 0 {
			return true
		}
	}
	return false
}

// clean copies a wanted tree without the comments that the document has already.
func (e *editor) clean(n *yaml.Node) *yaml.Node {
	c := Copy(n)
	e.cleanIn(c)
	if !e.doc.JSON {
		fromJSON(c)
	}
	return c
}

// fromJSON gives the fields that a function wrote as JSON, with quoted keys, the style of YAML.
func fromJSON(n *yaml.Node) {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if c.Style&yaml.DoubleQuotedStyle != 0 {
				c.Style = 0
				n.Style &^= yaml.FlowStyle
				plain(n.Content[i+1])
			}
			continue
		}
		fromJSON(c)
	}
}

// plain removes quotes and brackets that nothing needs.
func plain(n *yaml.Node) {
	if len(n.Content) > 0 {
		n.Style &^= yaml.FlowStyle
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagString {
		n.Tag, n.Style = yaml.NodeTagString, 0
	}
	for _, c := range n.Content {
		plain(c)
	}
}

func (e *editor) cleanIn(n *yaml.Node) {
	for _, text := range []*string{&n.HeadComment, &n.LineComment, &n.FootComment} {
		if !e.fresh.has(*text) {
			*text = ""
		}
	}
	for _, child := range n.Content {
		e.cleanIn(child)
	}
}

// merged copies a wanted tree with the comments and the style of the old one.
func (e *editor) merged(old, want *yaml.Node) *yaml.Node {
	m := e.clean(want)
	e.keep(old, m)
	return m
}

// keep gives a tree the comments and the style of another one, where it has none itself.
func (e *editor) keep(old, m *yaml.Node) {
	if old.Kind == yaml.AliasNode {
		if old.Alias.Kind == m.Kind {
			m.Style = old.Alias.Style &^ yaml.TaggedStyle
		}
		return
	}
	for _, c := range []struct{ to, from *string }{
		{&m.HeadComment, &old.HeadComment}, {&m.LineComment, &old.LineComment}, {&m.FootComment, &old.FootComment},
	} {
		if *c.to == "" {
			*c.to = *c.from
		}
	}
	if old.Kind != m.Kind {
		return
	}
	switch old.Kind {
	case yaml.ScalarNode:
		if tagOf(old) == tagOf(m) {
			m.Style = old.Style &^ yaml.TaggedStyle
		}
	case yaml.MappingNode:
		if m.Style = old.Style &^ yaml.TaggedStyle; len(old.Content) == 0 {
			m.Style = 0
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			if j := yamldoc.FieldIndex(old, m.Content[i].Value); j >= 0 {
				e.keep(old.Content[j], m.Content[i])
				e.keep(old.Content[j+1], m.Content[i+1])
			}
		}
		e.order(old, m)
	case yaml.SequenceNode:
		if m.Style = old.Style &^ yaml.TaggedStyle; len(old.Content) == 0 {
			m.Style = 0
		}
		for j, i := range e.align(old.Content, m.Content) {
			if i >= 0 {
				e.keep(old.Content[i], m.Content[j])
			}
		}
	}
}

// order puts the fields that a mapping had into the order that they had.
func (e *editor) order(old, m *yaml.Node) {
	var content, rest []*yaml.Node
	for i := 0; i+1 < len(old.Content); i += 2 {
		if j := yamldoc.FieldIndex(m, old.Content[i].Value); j >= 0 {
			content = append(content, m.Content[j], m.Content[j+1])
		}
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if yamldoc.FieldIndex(old, m.Content[i].Value) < 0 {
			rest = append(rest, m.Content[i], m.Content[i+1])
		}
	}
	if len(content)+len(rest) == len(m.Content) {
		content = append(content, rest...)
		m.Content = content
	}
}

// pair is a value of the document and the one it becomes. The keys are nil in a list.
type pair struct {
	place            place
	key, old         *yaml.Node
	wantKey, wantVal *yaml.Node
}

// comments writes the comments that are new. One that finds no place in the text is left out: it
// says nothing about the value.
func (e *editor) comments() {
	if len(e.fresh) == 0 {
		return
	}
	for _, p := range e.pairs {
		if p.place.flow || e.whole[p.old] || e.printedAbove(p.old) {
			continue
		}
		either := func(of func(*yaml.Node) string) string {
			if p.wantKey != nil && e.fresh.has(of(p.wantKey)) {
				return of(p.wantKey)
			}
			if text := of(p.wantVal); e.fresh.has(text) {
				return text
			}
			return ""
		}
		if text := either(func(n *yaml.Node) string { return n.LineComment }); text != "" {
			e.lineComment(p, text)
		}
		if text := either(func(n *yaml.Node) string { return n.HeadComment }); text != "" {
			e.headComment(p, text)
		}
		if text := either(func(n *yaml.Node) string { return n.FootComment }); text != "" {
			e.footComment(p, text)
		}
	}
}

// printedAbove reports whether a collection around a node is printed.
func (e *editor) printedAbove(n *yaml.Node) bool {
	for n = e.above(n); n != nil; n = e.above(n) {
		if e.whole[n] {
			return true
		}
	}
	return false
}

// lineComment sets the comment behind a value, or behind the key of one that stands below it.
func (e *editor) lineComment(p pair, text string) {
	sp := e.src.spans[p.old]
	at := sp.end
	switch {
	case p.old.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		header := e.src.text[sp.token:e.src.lineEnd(sp.token)]
		mark, _, _ := strings.Cut(header, " ")
		at = sp.token + len(mark)
	case e.src.lineStart(sp.token) != e.src.lineStart(e.src.after[p.old]):
		at = e.src.after[p.old]
	case isBlock(p.old) && len(p.old.Content) > 0:
		return
	}
	if !e.src.lastOnLine(at) || len(remarkLines(text)) != 1 {
		return
	}
	rest := e.src.text[at:e.src.lineEnd(at)]
	from := at + len(rest) - len(strings.TrimLeft(rest, " \t"))
	line := remarkLines(text)[0]
	if from == e.src.lineEnd(at) {
		from, line = at, " "+line
	}
	e.splice(p.place.in, splice{from, e.src.lineEnd(at), line})
}

// headComment sets the comment above a field or an item.
func (e *editor) headComment(p pair, text string) {
	node := p.key
	var at int
	if node != nil {
		at = e.src.spans[node].start
	} else {
		at = e.src.after[p.old] - 1
		if node = p.old; node.HeadComment == "" && len(node.Content) > 0 {
			node = node.Content[0]
		}
	}
	if !e.src.firstOnLine(at) {
		return
	}
	start := e.src.lineStart(at)
	pr := printer{}
	pr.remark(text, at-start)
	e.splice(p.place.in, splice{e.headStart(node, at), start, pr.out.String()})
}

// footComment sets the comment below a field or an item.
func (e *editor) footComment(p pair, text string) {
	end := e.src.spans[p.old].end
	if !e.src.lastOnLine(end) || e.src.lineEnd(end) == len(e.src.text) {
		return
	}
	pr := printer{}
	pr.remark(text, p.place.col)
	next := e.src.nextLine(end)
	if rest := e.src.text[next:e.src.lineEnd(next)]; strings.TrimSpace(rest) != "" {
		pr.out.WriteString("\n")
	}
	e.splice(p.place.in, splice{next, next, pr.out.String()})
}
