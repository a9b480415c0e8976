package fnexec

import (
	"bytes"
	"errors"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Parsing takes most of the time of a call, and most functions change few items. An item whose text
// comes back byte for byte is therefore not parsed: it is the node that was printed. But a dash at
// the margin is the beginning of an item only if no quote or bracket is open there. So the rest of
// the text is parsed without those items, and what was found must begin on the lines where the text
// has its items and its fields. Otherwise all of it is parsed.

// errUnlike reports that a text has to be parsed as a whole.
var errUnlike = errors.New("the text is not like the one that was sent")

// decodeAfter is decode for a function that was given data, in which these items are printed. Items
// of the result may be the same nodes.
func decodeAfter(data []byte, items []*yaml.RNode, out []byte) (*ResourceList, error) {
	if list, err := decodeRest(data, items, out); err == nil {
		return list, nil
	}
	return decode(out)
}

func decodeRest(data []byte, items []*yaml.RNode, out []byte) (*ResourceList, error) {
	was, ok := splitList(data)
	if !ok || len(was.entries) != len(items) {
		return nil, errUnlike
	}
	is, ok := splitList(out)
	if !ok {
		return nil, errUnlike
	}
	same := is.match(was, items)
	if len(same) == 0 {
		return nil, errUnlike
	}
	list, parsed, err := is.parse(same)
	if err != nil {
		return nil, err
	}
	list.Items = make([]*yaml.RNode, len(is.entries))
	for i := range list.Items {
		if item, ok := same[i]; ok {
			list.Items[i] = items[item]
		} else {
			list.Items[i] = parsed[i]
		}
	}
	return list, nil
}

// listText is a ResourceList as text, in parts.
type listText struct {
	data    []byte
	head    int // where the line after "items:" begins
	entries []entry
	tail    int // where the fields after the items begin
}

// entry is the text of an item: comments at the margin above its dash, and its lines.
type entry struct {
	start, end int
	comments   int // number of lines above the dash
}

// splitList splits a text at the lines where items and the fields after them seem to begin. ok is
// false if it is unlike the texts that are printed here. It may be anything if ok is true.
func splitList(data []byte) (l listText, ok bool) {
	l = listText{data: data, head: headOf(data)}
	if l.head == 0 || bytes.IndexByte(data, '\r') >= 0 || hasWideBreak(data) {
		return l, false
	}
	above, comments := l.head, 0 // the comments at the margin that are in no entry yet
	for l.tail = l.head; l.tail < len(data); {
		end := nextLine(data, l.tail)
		n := len(l.entries)
		switch c := data[l.tail]; {
		case c == '#':
			comments++
			l.tail = end
			continue
		case c == '-' && end-l.tail > 2 && data[l.tail+1] == ' ':
			l.entries = append(l.entries, entry{start: above, end: end, comments: comments})
		case (c == ' ' || c == '\n') && n > 0:
			l.entries[n-1].end = end
		case letterOrDigit(c) && (n > 0 || comments == 0):
			if n > 0 {
				l.entries[n-1].end = l.tail
			}
			return l, true
		default:
			return l, false
		}
		above, comments, l.tail = end, 0, end
	}
	return l, comments == 0
}

// headOf returns the length of the lines up to and with "items:"; 0 if there are others.
func headOf(data []byte) int {
	at := 0
	for range 3 {
		end := nextLine(data, at)
		switch string(data[at:end]) {
		case "items:\n":
			return end
		case "apiVersion: " + listAPIVersion + "\n", "kind: " + listKind + "\n":
		default:
			return 0
		}
		at = end
	}
	return 0
}

// nextLine returns where the line after the one at a place begins.
func nextLine(data []byte, at int) int {
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(data)
}

func (l *listText) text(i int) []byte { return l.data[l.entries[i].start:l.entries[i].end] }

// endsInComment reports whether the last line of an entry that is not empty may be a comment.
func (l *listText) endsInComment(i int) bool {
	text := bytes.TrimRight(l.text(i), " \n")
	last := text[bytes.LastIndexByte(text, '\n')+1:]
	return bytes.HasPrefix(bytes.TrimLeft(last, " "), []byte("#"))
}

// match finds the entries with the text of an item that was sent. Each item is used once.
func (l *listText) match(was listText, items []*yaml.RNode) map[int]int {
	sent := make(map[string]int, len(items))
	for i, item := range items {
		if hasKind(item.YNode()) && itself(item.YNode()) {
			sent[string(was.text(i))] = i
		}
	}
	same := make(map[int]int, len(sent))
	for i := range l.entries {
		if item, ok := sent[string(l.text(i))]; ok {
			same[i] = item
			delete(sent, string(l.text(i)))
		}
	}
	return same
}

// itself reports whether a tree is what parsing makes of its text: without aliases and merge keys,
// which parsing replaces.
func itself(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return false
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && (c.Kind != yaml.ScalarNode || c.Value == "<<") || !itself(c) {
			return false
		}
	}
	return true
}

// parse parses the text without the entries in same, and returns the others by their index.
func (l *listText) parse(same map[int]int) (*ResourceList, map[int]*yaml.RNode, error) {
	rest := slices.Clone(l.data[:l.head])
	lines := bytes.Count(rest, []byte("\n"))
	var kept, ends []int // the entries, and the number of lines up to and with each
	for i := range l.entries {
		if !l.needed(i, same) {
			continue
		}
		rest = append(rest, l.text(i)...)
		lines += bytes.Count(l.text(i), []byte("\n"))
		kept, ends = append(kept, i), append(ends, lines)
	}
	rest = append(rest, l.data[l.tail:]...)
	docs, err := parse(rest)
	if err != nil || len(docs) != 1 {
		return nil, nil, errUnlike
	}
	if l.tail < len(l.data) && !hasFieldAt(docs[0], lines+1) {
		return nil, nil, errUnlike
	}
	list := &ResourceList{}
	if err := list.add(docs[0], true); err != nil || len(list.Items) != len(kept) {
		return nil, nil, errUnlike
	}
	parsed := make(map[int]*yaml.RNode, len(kept))
	for i, item := range list.Items {
		if line := item.YNode().Line; line > ends[i] || i > 0 && line <= ends[i-1] {
			return nil, nil, errUnlike
		}
		parsed[kept[i]] = item
	}
	return list, parsed, nil
}

// needed reports whether an entry has to be parsed: it is not the same, or a comment between it and
// a neighbour that has to be parsed may be of either.
func (l *listText) needed(i int, same map[int]int) bool {
	changed := func(i int) bool {
		_, is := same[i]
		return i >= 0 && i < len(l.entries) && !is
	}
	switch {
	case changed(i):
		return true
	case changed(i + 1):
		return l.entries[i+1].comments > 0 || l.endsInComment(i)
	}
	return changed(i-1) && l.endsInComment(i-1)
}

// hasFieldAt reports whether a field of a mapping begins at the margin of a line.
func hasFieldAt(m *yaml.Node, line int) bool {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if k := m.Content[i]; m.Kind == yaml.MappingNode && k.Line == line && k.Column == 1 {
			return true
		}
	}
	return false
}
