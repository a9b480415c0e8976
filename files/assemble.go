package files

import (
	"bytes"
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// ignores reports whether a new file would not be read again.
func (t *Tree) ignores(p string) (bool, error) {
	ignore, err := readIgnore(t.dir, ".")
	if err != nil {
		return false, err
	}
	at := ""
	names := strings.Split(p, "/")
	for _, name := range names[:len(names)-1] {
		at = path.Join(at, name)
		if t.opts.Packages != Plain && slices.Contains(t.packages, at) {
			if ignore, err = readIgnore(t.dir, at); err != nil {
				return false, err
			}
			continue
		}
		if ignore.ignores(at, true) {
			return true, nil
		}
	}
	return ignore.ignores(p, false), nil
}

// part is a piece of a new file.
type part struct {
	text    []byte
	marked  bool // it begins with a separator
	content bool // it has a document in it, of any kind
}

// assemble makes the files of the resources.
func (t *Tree) assemble(m *matcher) (*Change, error) {
	added := map[string][]*wanted{} // documents that are new in a file
	stays := map[*document]*wanted{}
	for _, w := range m.items {
		if w.from != nil && w.in.path == w.at.path {
			stays[w.from] = w
			continue
		}
		added[w.at.path] = append(added[w.at.path], w)
	}
	c := &Change{tree: t}
	for _, f := range t.files {
		if err := c.rewrite(f, stays, added[f.path]); err != nil {
			return nil, err
		}
		delete(added, f.path)
	}
	for p, list := range added {
		if err := checkJSON(p, list, 0); err != nil {
			return nil, err
		}
		sortNew(list)
		var parts []part
		for _, w := range list {
			parts = append(parts, newPart(w.text))
		}
		c.files = append(c.files, written{path: p, data: join(parts, nil), mode: newMode})
	}
	slices.SortFunc(c.files, func(a, b written) int { return strings.Compare(a.path, b.path) })
	return c, nil
}

// newMode is the mode of a new file, before the umask.
const newMode = fs.FileMode(0o644)

// checkJSON refuses a second document in a JSON file.
func checkJSON(p string, list []*wanted, has int) error {
	if isJSON(p) && len(list) > 0 && len(list)+has > 1 {
		return placeError(list[len(list)-1].node, p, "a JSON file has one resource, and another one stands there")
	}
	return nil
}

// sortNew sorts new documents by index; those without one stay behind them in their order.
func sortNew(list []*wanted) {
	slices.SortStableFunc(list, func(a, b *wanted) int {
		if (a.at.index < 0) != (b.at.index < 0) {
			return cmp.Compare(b.at.index, a.at.index)
		}
		return cmp.Compare(a.at.index, b.at.index)
	})
}

// rewrite makes the new text of a file that was read.
func (c *Change) rewrite(f *file, stays map[*document]*wanted, list []*wanted) error {
	sortNew(list)
	var parts []part
	removed, kept := false, 0
	for i := range f.docs {
		d := &f.docs[i]
		text := f.data[d.start:d.end]
		w := stays[d]
		if w != nil {
			text = w.text
		}
		if d.resource && w == nil {
			removed = true
			continue
		}
		for len(list) > 0 && list[0].at.index >= 0 && d.index > list[0].at.index {
			parts, list = append(parts, newPart(list[0].text)), list[1:]
		}
		if d.index >= 0 {
			kept++
		}
		parts = append(parts, part{text, isMarked(text), d.index >= 0})
	}
	if err := checkJSON(f.path, list, kept); err != nil {
		return err
	}
	for _, w := range list {
		parts = append(parts, newPart(w.text))
	}
	head := []byte(nil)
	if bytes.HasPrefix(f.data, []byte(bom)) {
		head = []byte(bom)
	}
	if removed && len(parts) > 0 && len(f.docs) > 0 && !isMarked(f.data[f.docs[0].start:f.docs[0].end]) {
		parts[0].text = withoutMarker(parts[0].text)
	}
	w := written{path: f.path, before: f, mode: f.mode, data: join(parts, head)}
	w.remove = removed && isEmpty(w.data)
	if w.remove || !bytes.Equal(w.data, f.data) {
		c.files = append(c.files, w)
	}
	return nil
}

func newPart(text []byte) part { return part{text, isMarked(text), true} }

// isMarked reports whether a document has a separator before it.
func isMarked(text []byte) bool {
	for line := range bytes.Lines(text) {
		switch {
		case isMarker(line, "---"):
			return true
		case !isBlank(line) && line[0] != '%':
			return false
		}
	}
	return false
}

// withoutMarker removes a separator at the beginning of a file that nothing else stands beside.
func withoutMarker(text []byte) []byte {
	if line, rest, ok := bytes.Cut(text, []byte("\n")); ok && string(bytes.TrimSpace(line)) == "---" {
		return rest
	}
	return text
}

// isEmpty reports whether a file has nothing in it but separators.
func isEmpty(data []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte(bom))) {
		if text := strings.TrimSpace(string(line)); text != "" && text != "---" && text != "..." {
			return false
		}
	}
	return true
}

// join puts documents together, with separators and line ends where they are missing.
func join(parts []part, head []byte) []byte {
	if len(parts) == 0 {
		return head
	}
	eol := "\n"
	if len(parts) > 0 && bytes.Contains(parts[0].text, []byte("\r\n")) {
		eol = "\r\n"
	}
	out := bytes.Clone(head)
	begun := false // a document is before this one that no marker has ended
	for _, p := range parts {
		if len(out) > len(head) && out[len(out)-1] != '\n' {
			out = append(out, eol...)
		}
		if begun && p.content && !p.marked {
			out = append(out, "---"+eol...)
		}
		out = append(out, p.text...)
		if p.content {
			begun = !endsDocument(p.text)
		}
	}
	return out
}

// endsDocument reports whether the last line of a text ends a document.
func endsDocument(text []byte) bool {
	text = bytes.TrimRight(text, "\r\n")
	return isMarker(text[bytes.LastIndexByte(text, '\n')+1:], "...")
}
