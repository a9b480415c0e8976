package edit

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// freshComments returns the lines of comments that are new in want, and a copy of want without
// those that it has from the document. A comment moves to another node when a document is printed
// and read again, and one that is copied to where it was then stands twice. So a comment is not new
// where the document has it, nor where it has moved to, nor if the document had it where it is no
// longer.
func freshComments(d Doc, want *yaml.Node) (*yaml.Node, counts) {
	in := remarks{}
	in.add(want, nil)
	if len(in) == 0 {
		return want, counts{}
	}
	old := remarks{}
	old.add(d.Flat, nil)
	if in.within(old) {
		return want, counts{}
	}
	known := []remarks{old}
	again := d.Flat
	for range 2 { // a comment may move again
		var err error
		if again, err = printedAgain(again); err != nil {
			break
		}
		moved := remarks{}
		moved.add(again, nil)
		known = append(known, moved)
	}
	clean := Copy(want)
	forget(clean, nil, known)
	c := counts{}
	c.add(clean, 1)
	has := counts{}
	for at := range old {
		if !in[at] {
			has[at.line]++
		}
	}
	top := *d.Source
	top.Content = nil
	has.add(&top, 1)
	c.without(has, d.Flat != d.Source.Content[0])
	return clean, c
}

// printedAgain prints a resource as orchestrators do, and reads it again.
func printedAgain(n *yaml.Node) (*yaml.Node, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	list := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}
	top := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{yamldoc.Text("items"), list}}
	if err := errors.Join(encode(enc, top), enc.Close()); err != nil {
		return nil, err
	}
	doc, err := yamldoc.Source(out.Bytes())
	if err != nil {
		return nil, err
	}
	if err := yamldoc.FlattenText(doc, out.Len()); err != nil {
		return nil, err
	}
	items := yamldoc.Field(doc.Content[0], "items")
	if items == nil || len(items.Content) != 1 {
		return nil, ErrNotWritten
	}
	return items.Content[0], nil
}

// remarks is the lines of comments of a tree, each with the field or item that it belongs to.
type remarks map[remark]bool

type remark struct{ at, line string }

// step is a field or an item in a tree; nil is the top.
type step struct {
	up   *step
	name string
}

func (s *step) String() string {
	if s == nil {
		return ""
	}
	return s.up.String() + "/" + strconv.Quote(s.name)
}

// children calls f for the values in a node, with their keys, nil in a list.
func children(n *yaml.Node, at *step, f func(key, value *yaml.Node, at *step)) {
	for i, c := range n.Content {
		switch {
		case n.Kind != yaml.MappingNode:
			f(nil, c, &step{at, strconv.Itoa(i)})
		case i%2 == 1:
			f(n.Content[i-1], c, &step{at, n.Content[i-1].Value})
		}
	}
}

func (r remarks) add(n *yaml.Node, at *step) {
	r.addOwn(n, at)
	children(n, at, func(key, value *yaml.Node, at *step) {
		if key != nil {
			r.addOwn(key, at)
		}
		r.add(value, at)
	})
}

func (r remarks) addOwn(n *yaml.Node, at *step) {
	for _, text := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		for _, line := range remarkLines(text) {
			if line = strings.TrimSpace(line); line != "" {
				r[remark{at.String(), line}] = true
			}
		}
	}
}

// within reports whether another tree has all of these.
func (r remarks) within(other remarks) bool {
	for one := range r {
		if !other[one] {
			return false
		}
	}
	return true
}

// forget removes the comments of a tree that stand in one of these places.
func forget(n *yaml.Node, at *step, known []remarks) {
	forgetOwn(n, at, known)
	children(n, at, func(key, value *yaml.Node, at *step) {
		if key != nil {
			forgetOwn(key, at, known)
		}
		forget(value, at, known)
	})
}

func forgetOwn(n *yaml.Node, at *step, known []remarks) {
	for _, text := range []*string{&n.HeadComment, &n.LineComment, &n.FootComment} {
		if *text == "" {
			continue
		}
		own := remarks{}
		own.addOwn(&yaml.Node{HeadComment: *text}, at)
		for _, k := range known {
			if own.within(k) {
				*text = ""
				break
			}
		}
	}
}
