package edit

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// items edits a list.
func (e *editor) items(old, want *yaml.Node, flow bool) error {
	from := e.align(old.Content, want.Content)
	gone := make([]bool, len(old.Content))
	for i := range gone {
		gone[i] = true
	}
	kept := 0
	for j, i := range from {
		if i < 0 {
			continue
		}
		kept++
		gone[i] = false
		item := old.Content[i]
		p := place{in: old, flow: flow, col: e.dash(item)}
		if err := e.value(p, item, want.Content[j]); err != nil {
			return err
		}
		e.pairs = append(e.pairs, pair{p, nil, item, nil, want.Content[j]})
	}
	if kept == 0 {
		return &stuckError{old}
	}
	if flow {
		if err := e.removeFlow(old, gone, 1); err != nil {
			return err
		}
	} else if err := e.removeItems(old, gone); err != nil {
		return err
	}
	return e.addItems(old, want, from, flow)
}

// dash returns the column of the dash before an item, from 0.
func (e *editor) dash(item *yaml.Node) int {
	at := e.src.after[item] - 1
	return at - e.src.lineStart(at)
}

func (e *editor) removeItems(old *yaml.Node, gone []bool) error {
	for i, item := range old.Content {
		if !gone[i] {
			continue
		}
		start, end := e.itemLines(item)
		if start < 0 {
			return &stuckError{old}
		}
		e.splice(old, splice{start, end, ""})
	}
	return nil
}

// itemLines returns the offsets of the lines of an item, with the comments above it; -1 if it does
// not have lines of its own.
func (e *editor) itemLines(item *yaml.Node) (start, end int) {
	start, end = e.src.after[item]-1, e.src.spans[item].end
	if !e.src.firstOnLine(start) || !e.src.lastOnLine(end) {
		return -1, -1
	}
	head := item
	if item.HeadComment == "" && len(item.Content) > 0 {
		head = item.Content[0]
	}
	return e.headStart(head, start), e.src.nextLine(end)
}

// addItems inserts the items that a list does not have, each after the one that is before it in
// want.
func (e *editor) addItems(old, want *yaml.Node, from []int, flow bool) error {
	moved := e.removedItems(old, from)
	last := -1
	for j := 0; j < len(from); j++ {
		if from[j] >= 0 {
			last = from[j]
			continue
		}
		var run []*yaml.Node
		for ; j < len(from) && from[j] < 0; j++ {
			run = append(run, want.Content[j])
		}
		j--
		add := e.clean(&yaml.Node{Kind: yaml.SequenceNode, Content: run})
		var err error
		if flow {
			err = e.insertFlowItems(old, last, add)
		} else {
			err = e.insertItems(old, last, run, moved)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removed is the items that a list loses: one that comes back elsewhere keeps its text or, if it
// has changed, its comments.
type removed struct {
	lines map[uint64]string // by what they are
	named map[string]*yaml.Node
}

func (e *editor) removedItems(old *yaml.Node, from []int) removed {
	stays := map[int]bool{}
	for _, i := range from {
		stays[i] = true
	}
	r := removed{map[uint64]string{}, map[string]*yaml.Node{}}
	for i, item := range old.Content {
		if stays[i] {
			continue
		}
		if start, end := e.itemLines(item); start >= 0 && item.Anchor == "" {
			r.lines[e.hash.of(item)] = strings.TrimSuffix(e.src.text[start:end], "\n") + "\n"
		}
		if name := nameOf(item); name != "" {
			r.named[name] = item
		}
	}
	return r
}

// insertItems inserts items after the one at an index; -1 for before the first.
func (e *editor) insertItems(old *yaml.Node, at int, items []*yaml.Node, moved removed) error {
	var text strings.Builder
	p := e.printer()
	for _, item := range items {
		if lines, ok := moved.lines[e.hash.of(item)]; ok {
			text.WriteString(lines)
			continue
		}
		one := e.clean(item)
		if before := moved.named[nameOf(item)]; before != nil {
			e.keep(before, one)
		}
		list := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{one}}
		text.WriteString(p.lines(list, e.dash(old.Content[0])))
	}
	if at >= 0 {
		end := e.src.spans[old.Content[at]].end
		if !e.src.lastOnLine(end) {
			return &stuckError{old}
		}
		e.insertLines(old, end, text.String())
		return nil
	}
	start, _ := e.itemLines(old.Content[0])
	if start < 0 {
		return &stuckError{old}
	}
	e.splice(old, splice{start, start, text.String()})
	return nil
}

// align returns for each wanted item the index of the old one that it comes from, -1 for a new
// one. The indices rise. Equal items are found first, then those of the same name, then those of
// the same position between them.
func (e *editor) align(old, want []*yaml.Node) []int {
	from := make([]int, len(want))
	for j := range from {
		from[j] = -1
	}
	hashes := func(list []*yaml.Node) []uint64 {
		out := make([]uint64, len(list))
		for i, n := range list {
			out[i] = e.hash.of(n)
		}
		return out
	}
	names := func(list []*yaml.Node) []uint64 {
		out := make([]uint64, len(list))
		for i, n := range list {
			if name := nameOf(n); name != "" {
				out[i] = e.hash.text(name)
			}
		}
		return out
	}
	match(hashes(old), hashes(want), from)
	between(from, len(old), func(a, b, c, d int) {
		match(names(old[a:b]), names(want[c:d]), from[c:d])
		shift(from[c:d], a)
	})
	between(from, len(old), func(a, b, c, d int) {
		for a < b && c < d {
			from[c] = a
			a, c = a+1, c+1
		}
	})
	return from
}

// shift moves indices that were found in a part of a list to where the part begins.
func shift(from []int, by int) {
	for i := range from {
		if from[i] >= 0 {
			from[i] += by
		}
	}
}

// between calls f with the parts of both lists, old[a:b] and want[c:d], between those that belong
// together.
func between(from []int, old int, f func(a, b, c, d int)) {
	matched := append([]int{}, from...)
	a, c := 0, 0
	for j := 0; j <= len(matched); j++ {
		switch {
		case j == len(matched):
			if a < old && c < j {
				f(a, old, c, j)
			}
		case matched[j] >= 0:
			if a < matched[j] && c < j {
				f(a, matched[j], c, j)
			}
			a, c = matched[j]+1, j+1
		}
	}
}

// match finds a longest common subsequence of two lists of numbers, without zeros.
func match(old, want []uint64, from []int) {
	const most = 4_000_000 // cells
	a, b := 0, 0
	for a < len(old) && a < len(want) && old[a] == want[a] && old[a] != 0 {
		from[a] = a
		a++
	}
	for b < len(old)-a && b < len(want)-a && old[len(old)-1-b] == want[len(want)-1-b] && old[len(old)-1-b] != 0 {
		from[len(want)-1-b] = len(old) - 1 - b
		b++
	}
	rows, cols := len(old)-a-b, len(want)-a-b
	if rows == 0 || cols == 0 || rows*cols > most {
		return
	}
	length := make([][]int32, rows+1)
	for i := range length {
		length[i] = make([]int32, cols+1)
	}
	equal := func(i, j int) bool { return old[a+i] == want[a+j] && old[a+i] != 0 }
	for i := rows - 1; i >= 0; i-- {
		for j := cols - 1; j >= 0; j-- {
			if equal(i, j) {
				length[i][j] = length[i+1][j+1] + 1
				continue
			}
			length[i][j] = max(length[i+1][j], length[i][j+1])
		}
	}
	for i, j := 0, 0; i < rows && j < cols; {
		switch {
		case equal(i, j):
			from[a+j] = a + i
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
}

// nameOf returns what tells an item from the others, "" for none.
func nameOf(n *yaml.Node) string {
	if n.Kind != yaml.MappingNode {
		return ""
	}
	for _, key := range []string{"name", "key", "id", "mountPath", "devicePath", "containerPort", "port", "ip", "path", "type"} {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if v := n.Content[i+1]; n.Content[i].Value == key && v.Kind == yaml.ScalarNode {
				return key + "=" + v.Value
			}
		}
	}
	return ""
}
