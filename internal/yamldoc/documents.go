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
)

// Documents reads the documents of a text and flattens them, without the empty ones. It records
// every problem, in no particular order. If there is one, the result is only for finding more
// problems.
func Documents(data []byte, ps *Problems) []*yaml.Node {
	dec := decoderOf(data, ps)
	f := &flattener{ps: ps, room: room(len(data))}
	var docs []*yaml.Node
	for dec != nil && !f.stopped {
		var doc yaml.Node
		if !next(dec, &doc, data, ps) {
			break
		}
		if f.walk(&doc, 0); !f.stopped && !isEmpty(&doc) {
			docs = append(docs, &doc)
		}
	}
	return docs
}

// First reads the first document of a text, like a reader that ignores the others, and for whom the
// last field of a name counts. The repeated fields are recorded in again. The document is nil if it
// is empty. more reports whether anything follows it.
func First(data []byte, ps, again *Problems) (doc *yaml.Node, more bool) {
	dec := decoderOf(data, ps)
	doc = &yaml.Node{}
	if dec == nil || !next(dec, doc, data, ps) {
		return nil, false
	}
	f := &flattener{ps: ps, again: again, room: room(len(data))}
	f.walk(doc, 0)
	for !more {
		var behind yaml.Node
		err := decodeNext(dec, &behind)
		if errors.Is(err, io.EOF) {
			break
		}
		more = err != nil || !isEmpty(&behind)
	}
	if isEmpty(doc) {
		return nil, more
	}
	return doc.Content[0], more
}

// One reads a text of at most one document, nil if it is empty. The error is an *Error.
func One(data []byte) (*yaml.Node, error) {
	var ps Problems
	docs := Documents(data, &ps)
	if len(docs) > 1 {
		ps.Add(docs[1].Line, "a second document begins where one is expected")
	}
	if err := ps.First(); err != nil || len(docs) == 0 {
		return nil, err
	}
	return docs[0].Content[0], nil
}

// Source reads a text of at most one document as it is written: with aliases and merge keys. The
// node is of the document, nil if it is empty. It is not safe to walk before Flatten has taken a
// copy of it without a problem. The error is an *Error.
func Source(data []byte) (*yaml.Node, error) {
	var ps Problems
	dec := decoderOf(data, &ps)
	var doc, behind yaml.Node
	if dec == nil || !next(dec, &doc, data, &ps) {
		return nil, ps.First()
	}
	if next(dec, &behind, data, &ps) {
		ps.Add(behind.Line, "a second document begins where one is expected")
	}
	if err := ps.First(); err != nil || len(doc.Content) == 0 {
		return nil, err
	}
	return &doc, nil
}

// decoderOf returns a decoder of a text, nil if it is not UTF-8.
func decoderOf(data []byte, ps *Problems) *yaml.Decoder {
	if line, ok := firstInvalid(data); ok {
		ps.Add(line, "the text is not UTF-8")
		return nil
	}
	return yaml.NewDecoder(bytes.NewReader(data))
}

// next reads one document, and reports whether it could.
func next(dec *yaml.Decoder, doc *yaml.Node, data []byte, ps *Problems) bool {
	err := decodeNext(dec, doc)
	if err == nil || errors.Is(err, io.EOF) {
		return err == nil
	}
	line, msg := explain(err, data)
	if tooDeep(data) {
		ps.addBomb(line, "%s", msg)
	} else {
		ps.Add(line, "%s", msg)
	}
	return false
}

// decodeNext makes an error of a panic of the parser.
func decodeNext(dec *yaml.Decoder, doc *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser stopped with an internal error: %v", r)
		}
	}()
	return dec.Decode(doc)
}

// isEmpty reports whether a document is empty: two separators in a row, or comments.
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

// lineFirst and noAnchor match messages of the parser, which has no types for them.
const (
	lineFirst = `^line (\d+): (?s:(.*))$`
	noAnchor  = `^unknown anchor '(.*)' referenced$`
)

// ParserMessage returns the message of an error of the parser, without the parser's name.
func ParserMessage(err error) string { return strings.TrimPrefix(err.Error(), "yaml: ") }

// explain takes the line out of a message of the parser, and finds it if the message has none.
func explain(err error, data []byte) (line int, msg string) {
	msg = ParserMessage(err)
	if m := regexp.MustCompile(lineFirst).FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		if countsFromZero(m[2]) {
			line++
		}
		return line, m[2]
	}
	if m := regexp.MustCompile(noAnchor).FindStringSubmatch(msg); m != nil {
		return lineOf(data, "*"+m[1]), "the alias " + Quote(m[1]) + " has no anchor before it"
	}
	if msg == "control characters are not allowed" {
		return lineOfControl(data), msg
	}
	return 1, msg // the parser leaves the line out where it is the first
}

// countsFromZero reports whether the line in a message is one too low: the library adds one to the
// lines of its scanner, but not to those of its grammar.
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
