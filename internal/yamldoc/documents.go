package yamldoc

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

	"github.com/krmcat/krmcat/internal/failure"
)

// Problem is something wrong in a text.
type Problem struct {
	Line int // 1-based
	Msg  string
	// Bomb is set where reading on would take more memory or stack than any real document
	// needs: nobody else should read the text either.
	Bomb bool
}

func (p Problem) Error() string { return fmt.Sprintf("line %d: %s", p.Line, p.Msg) }

// Is tells errors.Is of a bomb that it was refused for safety.
func (p Problem) Is(other error) bool { return p.Bomb && other == failure.Untrusted }

// Documents reads the documents of a text and flattens them; empty ones are left out. Every
// problem is reported, in no particular order; what is returned beside problems is not to
// be used, except to look for more of them.
func Documents(data []byte, report func(Problem)) []*yaml.Node {
	if line, ok := firstInvalid(data); ok {
		report(Problem{Line: line, Msg: "the text is not UTF-8"})
		return nil
	}
	f := newFlattener(report, room(len(data)))
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
			report(Problem{Line: line, Msg: msg, Bomb: tooDeep(data)})
			return docs
		}
		f.walk(&doc, 0)
		if f.stopped {
			return docs
		}
		if !isEmpty(&doc) {
			docs = append(docs, &doc)
		}
	}
}

// First reads the first document of a text as a reader does that looks no further, and to
// whom a field that is written again replaces the one before: again is told of each. It is
// nil where that document says nothing. more tells whether anything stands behind it.
func First(data []byte, report, again func(Problem)) (doc *yaml.Node, more bool) {
	if line, ok := firstInvalid(data); ok {
		report(Problem{Line: line, Msg: "the text is not UTF-8"})
		return nil, false
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	doc = &yaml.Node{}
	switch err := decodeNext(dec, doc); {
	case errors.Is(err, io.EOF):
		return nil, false
	case err != nil:
		line, msg := explain(err, data)
		report(Problem{Line: line, Msg: msg, Bomb: tooDeep(data)})
		return nil, false
	}
	f := newFlattener(report, room(len(data)))
	f.again = again
	f.walk(doc, 0)
	for !more {
		var next yaml.Node
		err := decodeNext(dec, &next)
		if errors.Is(err, io.EOF) {
			break
		}
		more = err != nil || !isEmpty(&next)
	}
	if isEmpty(doc) {
		return nil, more
	}
	return doc.Content[0], more
}

// One reads a text of at most one document, and returns the first problem as the error.
func One(data []byte) (*yaml.Node, error) {
	var first error
	docs := Documents(data, func(p Problem) {
		if first == nil {
			first = p
		}
	})
	switch {
	case first != nil:
		return nil, first
	case len(docs) > 1:
		return nil, Problem{Line: docs[1].Line, Msg: "a second document begins where one is expected"}
	case len(docs) == 0:
		return nil, nil //nolint:nilnil // nothing was written, which is no error
	}
	return docs[0].Content[0], nil
}

// decodeNext keeps a panic of the parser from ending the program.
func decodeNext(dec *yaml.Decoder, doc *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser stopped with an internal error: %v", r)
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

// lineFirst and noAnchor are the parser's messages that are taken apart.
const (
	lineFirst = `^line (\d+): (?s:(.*))$`
	noAnchor  = `^unknown anchor '(.*)' referenced$`
)

// explain takes the line out of one of the parser's messages, and finds it where the
// message has none.
func explain(err error, data []byte) (line int, msg string) {
	msg = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := regexp.MustCompile(lineFirst).FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		if countsFromZero(m[2]) {
			line++
		}
		return line, m[2]
	}
	if m := regexp.MustCompile(noAnchor).FindStringSubmatch(msg); m != nil {
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

// quote repeats a piece of the text in a message, shortened.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}
