package edit

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// Doc is a document of a file.
type Doc struct {
	Text   []byte     // with its separator and line ends
	Source *yaml.Node // the document that yamldoc.Source reads in its Lines
	Flat   *yaml.Node // its value without aliases
	JSON   bool       // it must stay JSON
}

// ErrNotWritten reports that no text was found that has the wanted value.
var ErrNotWritten = errors.New("no text was found that has the wanted value")

// Edit returns the text of the document for another value, which has no aliases. It is the text of
// the document itself if nothing has changed. Comments that want does not have are kept.
func Edit(d Doc, want *yaml.Node) ([]byte, error) {
	want, fresh := freshComments(d, want)
	if len(fresh) == 0 && Same(d.Flat, want) {
		return d.Text, nil
	}
	e, err := newEditor(d, want, fresh)
	if err != nil {
		return d.printed(want, fresh)
	}
	again := false
	for range maxAttempts {
		out, at := e.attempt()
		switch {
		case at == nil && len(e.tokens) == len(e.splices):
			return out, nil // no comment is lost
		case at != nil && !e.widen(at):
			return d.printed(want, fresh)
		case at == nil && !again && e.lost(out):
			again = true // with these comments as new ones
		case at == nil:
			return out, nil
		}
	}
	return d.printed(want, fresh)
}

// lost takes the comments of want that a text does not have for new ones, and reports whether there
// are any: they were those of a part that is gone, too.
func (e *editor) lost(text []byte) bool {
	doc, err := yamldoc.Source(Lines(text))
	if e.doc.JSON || err != nil || doc == nil {
		return false
	}
	c := counts{}
	c.add(e.want, 1)
	if len(c) == 0 || yamldoc.Flatten(doc.Content[0]) != nil {
		return false
	}
	has := counts{}
	has.add(doc, 1)
	c.without(has, e.doc.Flat != e.doc.Source.Content[0])
	for line, n := range c {
		e.fresh[line] += n
	}
	return len(c) > 0
}

// maxAttempts bounds how often a larger part is printed. The largest is the document.
const maxAttempts = 60

// editor changes one document.
type editor struct {
	doc    Doc
	want   *yaml.Node
	src    *source
	style  style
	hash   hasher
	fresh  counts
	parent map[*yaml.Node]*yaml.Node
	// whole has the collections that are printed, since no smaller change gave what is wanted.
	whole map[*yaml.Node]bool
	// flats has the values of anchored nodes.
	flats map[*yaml.Node]*yaml.Node

	// Of one attempt:
	splices []splice
	touched []*yaml.Node              // collections in which something changed
	anchors map[*yaml.Node]*yaml.Node // the wanted values of anchored nodes
	pairs   []pair
	tokens  []token // the splices that are scalars on one line
}

func newEditor(d Doc, want *yaml.Node, fresh counts) (*editor, error) {
	src, err := locate(string(Lines(d.Text)), d.Source)
	if err != nil {
		return nil, err
	}
	e := &editor{doc: d, want: want, src: src, fresh: fresh, hash: hasher{maphash.MakeSeed()}}
	e.whole, e.flats = map[*yaml.Node]bool{}, map[*yaml.Node]*yaml.Node{}
	return e, nil
}

// printer returns a printer in the style of the document.
func (e *editor) printer() printer {
	if e.style.step == 0 {
		e.style = styleOf(e.src, e.doc.Source.Content[0])
	}
	return printer{style: e.style}
}

// above returns the collection around a node.
func (e *editor) above(n *yaml.Node) *yaml.Node {
	if e.parent == nil {
		e.parent = map[*yaml.Node]*yaml.Node{}
		e.link(e.doc.Source.Content[0])
	}
	return e.parent[n]
}

func (e *editor) link(n *yaml.Node) {
	for _, c := range n.Content {
		e.parent[c] = n
		e.link(c)
	}
}

// stuckError says which collection must be printed.
type stuckError struct{ at *yaml.Node }

// Error implements error.
func (*stuckError) Error() string { return "it cannot be edited in its text" }

// attempt edits the text, and returns the collections that have to be printed if the result is not
// what is wanted; nil if it is.
func (e *editor) attempt() (out []byte, at []*yaml.Node) {
	e.splices, e.touched, e.pairs, e.tokens = nil, nil, nil, nil
	e.anchors = map[*yaml.Node]*yaml.Node{}
	root := e.doc.Source.Content[0]
	err := e.value(place{}, root, e.want)
	if err == nil && !e.doc.JSON {
		e.comments()
	}
	var stuck *stuckError
	if errors.As(err, &stuck) && stuck.at != nil {
		return nil, []*yaml.Node{stuck.at}
	}
	if err != nil {
		return nil, []*yaml.Node{root}
	}
	out, err = apply(e.doc.Text, e.splices)
	if err != nil {
		return nil, e.touchedOr(root)
	}
	if len(e.tokens) == len(e.splices) && e.tokensHold() {
		return out, nil
	}
	got, err := e.doc.parse(out)
	if err != nil {
		return nil, e.touchedOr(root)
	}
	if !Same(got, e.want) {
		return nil, []*yaml.Node{e.differs(got)}
	}
	return out, nil
}

func (e *editor) touchedOr(root *yaml.Node) []*yaml.Node {
	if len(e.touched) == 0 {
		return []*yaml.Node{root}
	}
	return e.touched
}

// parse reads an edited text.
func (d Doc) parse(text []byte) (*yaml.Node, error) {
	if d.JSON && !validJSON(text) {
		return nil, errNotJSON
	}
	doc, err := yamldoc.Source(Lines(text))
	if err != nil {
		return nil, err
	}
	if doc == nil {
		return nil, fmt.Errorf("the document is empty")
	}
	if err := yamldoc.FlattenText(doc.Content[0], len(text)); err != nil {
		return nil, err
	}
	return doc.Content[0], nil
}

// widen marks collections to be printed, and those around the ones that are already. It returns
// false if there is nothing left to mark.
func (e *editor) widen(at []*yaml.Node) bool {
	more := false
	for _, n := range at {
		for n != nil && (e.whole[n] || n.Kind == yaml.ScalarNode || n.Kind == yaml.AliasNode) {
			n = e.above(n)
		}
		if n != nil {
			e.whole[n], more = true, true
		}
	}
	return more
}

// differs returns the innermost collection of the source in which a result is not what is wanted.
func (e *editor) differs(got *yaml.Node) *yaml.Node {
	at, want := e.doc.Source.Content[0], e.want
	for {
		next := (*yaml.Node)(nil)
		for i := 0; want.Kind == yaml.MappingNode && got.Kind == yaml.MappingNode && i+1 < len(want.Content); i += 2 {
			key := want.Content[i].Value
			w, g, s := want.Content[i+1], yamldoc.Field(got, key), yamldoc.Field(at, key)
			if g == nil || Same(g, w) {
				continue
			}
			if s != nil && s.Kind == yaml.MappingNode && w.Kind == s.Kind {
				next, got, want = s, g, w
			}
			break
		}
		if next == nil {
			return at
		}
		at = next
	}
}

// printed prints the whole value, between what stands before and after it in the text.
func (d Doc) printed(want *yaml.Node, fresh counts) ([]byte, error) {
	e := &editor{doc: d, want: want, fresh: fresh, hash: hasher{maphash.MakeSeed()}, style: style{step: 2}}
	var body []byte
	if d.JSON {
		body = printJSON(want, indentOfJSON(d.Text))
	} else {
		p := printer{style: e.style}
		body = []byte(p.document(e.merged(d.Source.Content[0], want)))
	}
	for _, keep := range []bool{true, false} {
		text := body
		if head := headOf(d.Text); keep && !d.JSON {
			text = append(bytes.Clone(head), body...)
		}
		text = withLineEnds(text, crlf(d.Text))
		if got, err := d.parse(text); err == nil && Same(got, want) {
			return text, nil
		}
	}
	return nil, ErrNotWritten
}

// headOf returns the separator of a document, and the comments before it.
func headOf(text []byte) []byte {
	text = Lines(text)
	at := 0
	for at < len(text) {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := bytes.TrimSpace(text[at:end])
		if bytes.HasPrefix(line, []byte("---")) {
			if rest := bytes.TrimSpace(line[3:]); len(rest) > 0 && rest[0] != '#' {
				return append(bytes.Clone(text[:at]), "---\n"...)
			}
			return text[:end]
		}
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			break
		}
		at = end
	}
	return nil
}
