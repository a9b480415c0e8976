package edit

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// place is where a value stands. The zero value is the top of the document.
type place struct {
	in   *yaml.Node // the mapping or list; nil for the top
	flow bool       // it is in brackets
	col  int        // of the key or the dash, in block style
}

// value edits a value.
func (e *editor) value(p place, old, want *yaml.Node) error {
	if old.Anchor != "" {
		e.anchors[old] = want
	}
	switch {
	case old.Kind == yaml.AliasNode:
		if Same(e.aliased(old), want) {
			return nil
		}
		return e.replace(p, old, want)
	case e.whole[old], old.Kind != want.Kind:
		return e.replace(p, old, want)
	case old.Kind == yaml.ScalarNode:
		if sameScalar(old, want) {
			return nil
		}
		return e.scalar(p, old, want)
	case !sameTag(old, want), len(old.Content) > 0 != (len(want.Content) > 0):
		return e.replace(p, old, want)
	case len(old.Content) == 0:
		return nil
	}
	flow := old.Style&yaml.FlowStyle != 0
	if old.Kind == yaml.MappingNode {
		return e.fields(old, want, flow)
	}
	return e.items(old, want, flow)
}

// aliased returns what an alias stands for after the change.
func (e *editor) aliased(alias *yaml.Node) *yaml.Node {
	if want := e.anchors[alias.Alias]; want != nil {
		return want
	}
	if flat := e.flats[alias.Alias]; flat != nil {
		return flat
	}
	flat := Copy(alias.Alias)
	if yamldoc.FlattenText(flat, len(e.doc.Text)) != nil {
		flat = alias // which is the same as nothing
	}
	e.flats[alias.Alias] = flat
	return flat
}

// splice records a change in a collection.
func (e *editor) splice(in *yaml.Node, s splice) {
	e.splices = append(e.splices, s)
	if in == nil {
		in = e.doc.Source.Content[0]
	}
	e.touched = append(e.touched, in)
}

// replace prints a value in the place of another one.
func (e *editor) replace(p place, old, want *yaml.Node) error {
	sp, ok := e.src.spans[old]
	if !ok {
		return &stuckError{p.in}
	}
	m := e.merged(old, want)
	pr := e.printer()
	switch {
	case p.flow || p.in == nil && e.doc.JSON:
		return e.replaceFlow(p, old, m)
	case p.in == nil:
		return e.replaceTop(sp, old, m)
	}
	after := e.src.after[old]
	sameLine := e.src.lineStart(sp.start) == e.src.lineStart(after)
	block := isBlock(m) && len(m.Content) > 0
	if !block && m.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		m.Style = 0
	}
	anchor := ""
	if old.Anchor != "" {
		anchor = " &" + old.Anchor
	}
	end := sp.end
	if len(old.Content) > 0 && isBlock(old) {
		if !e.src.lastOnLine(sp.end) {
			return &stuckError{p.in}
		}
		end = e.src.lineEnd(sp.end)
	}
	switch {
	case p.in.Kind == yaml.SequenceNode && block:
		if !e.src.lastOnLine(sp.end) {
			return &stuckError{p.in}
		}
		if anchor != "" {
			return &stuckError{p.in}
		}
		e.splice(p.in, splice{after, e.src.lineEnd(sp.end), " " + pr.inline(m, p.col+2)})
	case block && sameLine:
		if !e.src.lastOnLine(sp.end) || p.in.Kind != yaml.MappingNode {
			return &stuckError{p.in}
		}
		e.splice(p.in, splice{after, sp.end, anchor})
		e.insertLines(p.in, sp.end, pr.below(m, p.col))
	case block:
		next := e.src.nextLine(after)
		e.splice(p.in, splice{next, end, strings.TrimSuffix(pr.below(m, p.col), "\n")})
	case sameLine:
		e.splice(p.in, splice{after, end, anchor + " " + pr.token(m, false)})
	default:
		e.splice(p.in, splice{after, after, anchor + " " + pr.token(m, false)})
		e.splice(p.in, splice{e.src.lineEnd(after), end, ""})
	}
	return nil
}

// replaceTop prints the value of the document.
func (e *editor) replaceTop(sp span, old, m *yaml.Node) error {
	if old.Style&yaml.FlowStyle != 0 {
		m.Style |= yaml.FlowStyle
		p := e.printer()
		e.splice(nil, splice{sp.start, sp.end, p.flow(m)})
		return nil
	}
	end := sp.end
	if e.src.lastOnLine(end) {
		end = e.src.lineEnd(end)
	}
	p := e.printer()
	e.splice(nil, splice{e.src.lineStart(sp.start), end, strings.TrimSuffix(p.document(m), "\n")})
	return nil
}

// insertLines inserts lines after the line that an offset is in.
func (e *editor) insertLines(in *yaml.Node, at int, lines string) {
	next := e.src.lineEnd(at)
	if next == len(e.src.text) {
		e.splice(in, splice{next, next, "\n" + strings.TrimSuffix(lines, "\n")})
		return
	}
	e.splice(in, splice{next + 1, next + 1, lines})
}

// isBlock reports whether a node is a collection that is printed in block style.
func isBlock(n *yaml.Node) bool {
	return (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && n.Style&yaml.FlowStyle == 0 && tagBefore(n) == ""
}

// tagBefore returns the tag of a collection with a space, "" if it needs none.
func tagBefore(n *yaml.Node) string {
	switch tag := n.ShortTag(); {
	case n.Kind == yaml.MappingNode && tag == yaml.NodeTagMap, n.Kind == yaml.SequenceNode && tag == yaml.NodeTagSeq, tag == "":
		return ""
	default:
		return tag + " "
	}
}
