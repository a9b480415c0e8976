package fnexec

import (
	"bytes"
	"runtime"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// partSize is the least that is worth a parser of its own, in bytes.
const partSize = 64 << 10

// decodeParts reads a ResourceList of the shape that nearly every function writes, its
// items as an unindented block list, with several parsers at once. It says no to every
// other shape and to whatever it cannot read: Decode then looks at the whole, and finds
// the error if there is one. A cut can only make a part unreadable, never give it another
// meaning: nothing but an entry of the list can begin with "- " at the margin, except
// inside quotes and brackets, which the cut leaves open. size is the least size of a
// part, in bytes.
func decodeParts(data []byte, size int) (*ResourceList, bool) {
	if len(data) < 2*size || bytes.Count(data, []byte{','})+bytes.Count(data, []byte{'\n'}) > maxTokens {
		return nil, false
	}
	head, items, tail, ok := cutItems(data)
	if !ok {
		return nil, false
	}
	frame := bytes.Join([][]byte{head, []byte("items: []\n"), tail}, nil)
	docs, err := parse(frame)
	if err != nil || len(docs) != 1 || docs[0].Kind != yaml.MappingNode || stringOf(docs[0], "kind") != listKind {
		return nil, false
	}
	all := field(docs[0], "items")
	parts := cutParts(items, max(len(items)/min(runtime.GOMAXPROCS(0), 8), size))
	lists := make([]*yaml.Node, len(parts))
	var g errgroup.Group
	for i, p := range parts {
		g.Go(func() error {
			d, err := parse(p)
			if err == nil && len(d) == 1 {
				lists[i] = d[0]
			}
			return err
		})
	}
	if g.Wait() != nil {
		return nil, false
	}
	for _, l := range lists {
		if l == nil || l.Kind != yaml.SequenceNode {
			return nil, false
		}
		all.Content = append(all.Content, l.Content...)
	}
	list := &ResourceList{}
	if list.unwrap(docs[0]) != nil {
		return nil, false
	}
	return list, true
}

// cutItems finds the lines of the list of items.
func cutItems(data []byte) (head, items, tail []byte, ok bool) {
	mark := []byte("\nitems:\n- ")
	i := bytes.Index(data, mark)
	if i < 0 {
		return nil, nil, nil, false
	}
	start := i + len(mark) - len("- ")
	for at := start; ; {
		if at == len(data) {
			return data[:i+1], data[start:], nil, true
		}
		if !inItems(data[at:]) {
			return data[:i+1], data[start:at], data[at:], true
		}
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			return data[:i+1], data[start:], nil, true
		}
		at += end + 1
	}
}

// inItems tells a line that belongs to an unindented list from one that ends it.
func inItems(line []byte) bool {
	switch line[0] {
	case ' ', '\n', '#':
		return true
	}
	return bytes.HasPrefix(line, []byte("- "))
}

// cutParts cuts a list into parts of about a size, each beginning with an entry that no comment
// and no empty line stands before: to which entry such a line belongs is the parser's to
// say.
func cutParts(items []byte, size int) [][]byte {
	var parts [][]byte
	for len(items) > size+size/2 {
		cut := nextEntry(items, size)
		if cut < 0 {
			break
		}
		parts = append(parts, items[:cut])
		items = items[cut:]
	}
	return append(parts, items)
}

func nextEntry(items []byte, from int) int {
	for at := from; ; {
		i := bytes.Index(items[at:], []byte("\n- "))
		if i < 0 {
			return -1
		}
		at += i + 1
		line := items[bytes.LastIndexByte(items[:at-1], '\n')+1 : at-1]
		if l := bytes.TrimSpace(line); len(l) > 0 && l[0] != '#' {
			return at
		}
	}
}
