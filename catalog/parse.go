package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	maxDepth   = 256    // levels of nesting: schemas of real functions stay under 60
	copiedBase = 10_000 // nodes that aliases of a small file may add
	copiedPart = 4      // and of a large one: a node for so many bytes of it
)

// parse reads the documents of a file. What it returns has neither aliases nor
// duplicate keys, unless a problem says so; documents that cannot be used are left out.
func parse(data []byte, ps *problems) []*yaml.Node {
	if line, ok := firstInvalid(data); ok {
		ps.add(line, "the text is not UTF-8")
		return nil
	}
	x := &expander{ps: ps, budget: copiedBase + len(data)/copiedPart, active: map[*yaml.Node]bool{}}
	var docs []*yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := decodeNext(dec, &doc)
		if errors.Is(err, io.EOF) {
			return docs
		}
		if err != nil {
			line, msg := explain(err, data)
			ps.add(line, "%s", msg)
			return docs
		}
		x.children(&doc, 0)
		if x.stopped {
			return docs
		}
		if !isEmpty(&doc) {
			docs = append(docs, &doc)
		}
	}
}

// decodeNext keeps a panic of the parser from ending the program: the text is a
// stranger's.
func decodeNext(dec *yaml.Decoder, doc *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser gave up: %v", r)
		}
	}()
	return dec.Decode(doc)
}

// isEmpty tells a document that says nothing: two separators in a row, or comments.
func isEmpty(doc *yaml.Node) bool {
	return len(doc.Content) == 0 || doc.Content[0].ShortTag() == yaml.NodeTagNull
}

func firstInvalid(data []byte) (line int, found bool) {
	if utf8.Valid(data) {
		return 0, false
	}
	line = 1
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r == utf8.RuneError && n == 1 {
			return line, true
		}
		if r == '\n' {
			line++
		}
		data = data[n:]
	}
	return line, true
}

// explain takes the line out of one of the parser's messages, and finds it where the
// message has none.
func explain(err error, data []byte) (line int, msg string) {
	msg = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := regexp.MustCompile(`^line (\d+): (?s:(.*))$`).FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		if countsFromZero(m[2]) {
			line++
		}
		return line, m[2]
	}
	if m := regexp.MustCompile(`^unknown anchor '(.*)' referenced$`).FindStringSubmatch(msg); m != nil {
		return lineOf(data, "*"+m[1]), "the alias " + quote(m[1]) + " has no anchor before it"
	}
	if msg == "control characters are not allowed" {
		return lineOfControl(data), msg
	}
	return 1, msg // the parser leaves the line out where it is the first
}

// countsFromZero tells the messages whose line is one too low: the library adds one to
// those of its scanner, and not to those of its grammar.
func countsFromZero(msg string) bool {
	for _, m := range []string{
		"did not find expected <", "did not find expected node content", "did not find expected '-' indicator",
		"did not find expected key", "did not find expected ',' or ", "found undefined tag handle",
		"found duplicate %", "found incompatible YAML document",
	} {
		if strings.HasPrefix(msg, m) {
			return true
		}
	}
	return false
}

func lineOf(data []byte, text string) int {
	before, _, found := bytes.Cut(data, []byte(text))
	if !found {
		return 1
	}
	return 1 + bytes.Count(before, []byte("\n"))
}

func lineOfControl(data []byte) int {
	line := 1
	for _, r := range string(data) {
		switch {
		case r == '\n':
			line++
		case r < ' ' && r != '\t' && r != '\r', r >= 0x7f && r < 0xa0 && r != 0x85, r == 0xfffe, r == 0xffff:
			return line
		}
	}
	return line
}

// expander replaces aliases by copies, in one walk over the nodes, and looks at every
// mapping's keys on its way. The copies are bounded: the parser leaves aliases alone, so
// this is where an alias bomb would go off.
type expander struct {
	ps      *problems
	budget  int                 // nodes that may still be copied
	active  map[*yaml.Node]bool // the anchored nodes that enclose the current one
	stopped bool
}

func (x *expander) stop(line int, format string, args ...any) {
	if !x.stopped {
		x.ps.add(line, format, args...)
	}
	x.stopped = true
}

func (x *expander) children(n *yaml.Node, depth int) {
	if !x.fits(n, depth) {
		return
	}
	if n.Anchor != "" {
		// Nothing refers to it in what is printed again.
		n.Anchor = ""
		x.active[n] = true
		defer delete(x.active, n)
	}
	for i, c := range n.Content {
		if x.stopped {
			return
		}
		if c.Kind == yaml.AliasNode {
			n.Content[i] = x.resolve(c, depth+1)
			continue
		}
		x.children(c, depth+1)
	}
	if n.Kind == yaml.MappingNode {
		x.keys(n)
	}
}

func (x *expander) fits(n *yaml.Node, depth int) bool {
	if depth > maxDepth {
		x.stop(n.Line, "nested more than %d levels deep", maxDepth)
	}
	return !x.stopped
}

// resolve copies what an alias stands for. That was walked before the alias was
// reached, so it has no aliases of its own any more, unless it encloses this one.
func (x *expander) resolve(alias *yaml.Node, depth int) *yaml.Node {
	if x.active[alias.Alias] {
		x.stop(alias.Line, "the alias %s stands inside its own anchor", quote(alias.Value))
		return alias
	}
	c := x.copy(alias.Alias, alias, depth)
	c.HeadComment, c.LineComment, c.FootComment = alias.HeadComment, alias.LineComment, alias.FootComment
	return c
}

func (x *expander) copy(n, alias *yaml.Node, depth int) *yaml.Node {
	c := *n
	c.Content = nil
	if x.budget--; x.budget < 0 {
		x.stop(alias.Line, "aliases make the file too large")
	}
	if !x.fits(alias, depth) {
		return &c
	}
	if len(n.Content) > 0 {
		c.Content = make([]*yaml.Node, 0, min(len(n.Content), x.budget+1))
	}
	for _, child := range n.Content {
		if x.stopped {
			break
		}
		c.Content = append(c.Content, x.copy(child, alias, depth+1))
	}
	return &c
}

// keys refuses what two readers of one mapping could read differently.
func (x *expander) keys(n *yaml.Node) {
	const few = 16
	var seen map[string]*yaml.Node
	if len(n.Content) > 2*few {
		seen = make(map[string]*yaml.Node, len(n.Content)/2)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			x.ps.add(k.Line, "the key of a field must be text, not a %s", typeOf(k))
		case k.ShortTag() == yaml.MergeTag:
			x.ps.add(k.Line, "merge keys (<<) are not supported: write the fields out")
		default:
			if first := earlier(n, i, seen); first != nil {
				x.ps.add(k.Line, "the field %s is written twice, first in line %d", quote(k.Value), first.Line)
			}
		}
	}
}

// earlier finds the key that is the same as the one at i: in seen, which it fills,
// where there are many, else by looking at each.
func earlier(n *yaml.Node, i int, seen map[string]*yaml.Node) *yaml.Node {
	k := n.Content[i]
	if seen != nil {
		first := seen[k.Value]
		if first == nil {
			seen[k.Value] = k
		}
		return first
	}
	for j := 0; j < i; j += 2 {
		if o := n.Content[j]; o.Kind == yaml.ScalarNode && o.Value == k.Value {
			return o
		}
	}
	return nil
}
