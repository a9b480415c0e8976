package edit

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// fields edits a mapping. The order of the keys that stay does not change.
func (e *editor) fields(old, want *yaml.Node, flow bool) error {
	wanted := fieldsOf(want)
	merged := e.mergedFields(old)
	kept := 0
	gone := make([]bool, len(old.Content)/2)
	for i := 0; i+1 < len(old.Content); i += 2 {
		k, v := old.Content[i], old.Content[i+1]
		j, ok := wanted[k.Value]
		if k.ShortTag() == yaml.MergeTag {
			kept++
			continue
		}
		if gone[i/2] = !ok; !ok {
			continue
		}
		kept++
		p := place{in: old, flow: flow, col: e.column(k)}
		if err := e.value(p, v, want.Content[j+1]); err != nil {
			return err
		}
		e.pairs = append(e.pairs, pair{p, k, v, want.Content[j], want.Content[j+1]})
	}
	if kept == 0 {
		return &stuckError{old}
	}
	for key := range merged {
		if _, ok := wanted[key]; !ok {
			return &stuckError{old} // only a mapping without the merge key can do without it
		}
	}
	if err := e.removeFields(old, gone, flow); err != nil {
		return err
	}
	return e.addFields(old, want, merged, flow)
}

// column returns the column of a key, from 0.
func (e *editor) column(n *yaml.Node) int {
	sp := e.src.spans[n]
	return sp.start - e.src.lineStart(sp.start)
}

// mergedFields returns the fields that a mapping has only by its merge keys, nil for none.
func (e *editor) mergedFields(m *yaml.Node) map[string]*yaml.Node {
	own := map[string]bool{}
	merges := false
	for i := 0; i+1 < len(m.Content); i += 2 {
		own[m.Content[i].Value] = true
		merges = merges || m.Content[i].ShortTag() == yaml.MergeTag
	}
	if !merges {
		return nil
	}
	flat := Copy(m)
	if yamldoc.Flatten(flat) != nil {
		return nil
	}
	out := map[string]*yaml.Node{}
	for i := 0; i+1 < len(flat.Content); i += 2 {
		if !own[flat.Content[i].Value] {
			out[flat.Content[i].Value] = flat.Content[i+1]
		}
	}
	return out
}

// addFields inserts the fields that a mapping does not have, each after the one that is before it
// in want.
func (e *editor) addFields(old, want *yaml.Node, merged map[string]*yaml.Node, flow bool) error {
	has := fieldsOf(old)
	first, last := -1, -1
	for i := 0; i+1 < len(old.Content) && first < 0; i += 2 {
		if yamldoc.FieldIndex(want, old.Content[i].Value) >= 0 || old.Content[i].ShortTag() == yaml.MergeTag {
			first = i
		}
	}
	var waiting []*yaml.Node
	flush := func() error {
		if len(waiting) == 0 {
			return nil
		}
		at := last
		if at < 0 {
			at = first
		}
		err := e.insertFields(old, at, waiting, flow)
		waiting = nil
		return err
	}
	for i := 0; i+1 < len(want.Content); i += 2 {
		k, v := want.Content[i], want.Content[i+1]
		if at, ok := has[k.Value]; ok {
			if last >= 0 || len(waiting) == 0 {
				if err := flush(); err != nil {
					return err
				}
			}
			last = at
			continue
		}
		if m := merged[k.Value]; m != nil && Same(m, v) {
			continue
		}
		waiting = append(waiting, k, v)
	}
	return flush()
}

// insertFields inserts fields after the one at an index of the content.
func (e *editor) insertFields(old *yaml.Node, at int, fields []*yaml.Node, flow bool) error {
	add := e.clean(&yaml.Node{Kind: yaml.MappingNode, Content: fields})
	sp := e.src.spans[old.Content[at+1]]
	if flow {
		return e.insertFlow(old, old.Content[at], sp.end, add)
	}
	if !e.src.lastOnLine(sp.end) {
		return &stuckError{old}
	}
	p := e.printer()
	e.insertLines(old, sp.end, p.lines(add, e.column(old.Content[at])))
	return nil
}

// removeFields removes fields.
func (e *editor) removeFields(old *yaml.Node, gone []bool, flow bool) error {
	if flow {
		return e.removeFlow(old, gone, 2)
	}
	for i := range gone {
		if !gone[i] {
			continue
		}
		k, v := old.Content[2*i], old.Content[2*i+1]
		start, end := e.src.spans[k].start, e.src.spans[v].end
		if !e.src.lastOnLine(end) {
			return &stuckError{old}
		}
		end = e.src.nextLine(end)
		switch {
		case e.src.firstOnLine(start):
			start = e.headStart(k, start)
		case i+1 < len(gone):
			// The first field of an item stands behind the dash: the next one takes its place.
			rest := e.src.text[end:]
			end += len(rest) - len(strings.TrimLeft(rest, " "))
		default:
			return &stuckError{old}
		}
		e.splice(old, splice{start, end, ""})
	}
	return nil
}

// headStart returns the offset of the line where the comments above a key begin that belong to it.
func (e *editor) headStart(n *yaml.Node, at int) int {
	at = e.src.lineStart(at)
	for range strings.Count(n.HeadComment, "\n") + 1 {
		if n.HeadComment == "" || at == 0 {
			break
		}
		above := e.src.lineStart(at - 1)
		if !strings.HasPrefix(strings.TrimLeft(e.src.text[above:at], " \t"), "#") {
			break
		}
		at = above
	}
	return at
}
