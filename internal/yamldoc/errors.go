package yamldoc

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
)

const (
	maxListed    = 20   // problems that one error shows
	maxCollected = 1000 // problems that are kept: a hostile file has millions
	maxQuoted    = 60   // bytes of a file's own text that a message repeats
)

// Error is an error in a document, with its position.
type Error struct {
	File  string // its name for people; "" if unknown
	Line  int    // 1-based; 0 if unknown
	Field string // runtime.exec.platforms[1].os; "" for the whole, or if unknown
	Msg   string
	Err   error // the cause; may be nil
	// Bomb means that reading on would take more memory or stack than any real document: no other
	// program should read the text either.
	Bomb bool
	// Kind is what the error means to the user, unless its cause has a kind itself.
	Kind failure.Kind
}

// In returns an error as one in a file, with the position that is known of it.
func In(file string, kind failure.Kind, err error) *Error {
	e := Error{Msg: err.Error()}
	var at *Error
	if errors.As(err, &at) {
		e = *at
	}
	e.File, e.Kind, e.Err = file, kind, err
	return &e
}

// Error returns the message after the position: "file:3: spec.rules: must be a list".
func (e *Error) Error() string {
	switch {
	case e.File != "" && e.Line > 0:
		return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Text()
	case e.File != "":
		return e.File + ": " + e.Text()
	case e.Line > 0:
		return "line " + strconv.Itoa(e.Line) + ": " + e.Text()
	}
	return e.Text()
}

// Text returns the message with the field, and without file and line.
func (e *Error) Text() string { return strings.TrimPrefix(e.Field+": ", ": ") + e.Msg }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports the kind of the error. A bomb is refused for safety.
func (e *Error) Is(other error) bool {
	return e.Bomb && other == failure.Untrusted || e.Kind != "" && other == e.Kind && failure.Of(e.Err) == failure.Unexpected
}

// Details implements failure.Detailed.
func (e *Error) Details() failure.Details {
	if e.File == "" {
		return failure.Details{}
	}
	return failure.Details{Message: e.Text(), Position: failure.Position{File: e.File, Line: e.Line}}
}

// Errors is all errors in one document or file. It unwraps to each *Error.
type Errors struct {
	List []*Error // the first of them by line; at least one, at most 20
	More int      // how many there are beyond the list
}

// Error returns one problem per line.
func (e *Errors) Error() string {
	lines := make([]string, 0, len(e.List)+1)
	for _, one := range e.List {
		lines = append(lines, one.Error())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each *Error.
func (e *Errors) Unwrap() []error {
	errs := make([]error, len(e.List))
	for i, one := range e.List {
		errs[i] = one
	}
	return errs
}

// Apart lists the problems, each of which is reported by itself.
func (e *Errors) Apart() []error {
	list := e.Unwrap()
	if e.More > 0 {
		list = append(list, fmt.Errorf("and %d more", e.More))
	}
	return list
}

// Problems collects the errors in one file. The zero value is ready for use.
type Problems struct {
	File string // its name for people; "" if unknown
	list []*Error
	more int
	// meant are the known names that the unknown fields of a mapping were taken for.
	meant map[*yaml.Node][]string
}

// Add records a problem in a line; 0 for the whole file. The operand of %w is its cause.
func (p *Problems) Add(line int, format string, args ...any) {
	if e := p.problem(line, format, args...); e != nil {
		p.list = append(p.list, e)
	}
}

// problem returns a problem to be kept, nil if there are too many: it is only counted then.
func (p *Problems) problem(line int, format string, args ...any) *Error {
	if p.full() {
		p.more++
		return nil
	}
	msg := fmt.Errorf(format, args...)
	return &Error{File: p.File, Line: line, Msg: msg.Error(), Err: errors.Unwrap(msg)}
}

// addAt records a problem of a value. The value may be read twice: a problem is recorded once.
func (p *Problems) addAt(line int, at *Place, format string, args ...any) {
	e := p.problem(line, format, args...)
	if e == nil {
		return
	}
	e.Field = at.String()
	same := func(o *Error) bool { return o.Line == e.Line && o.Field == e.Field && o.Msg == e.Msg }
	if !slices.ContainsFunc(p.list, same) {
		p.list = append(p.list, e)
	}
}

// addBomb records the problem that ends reading. It is kept even if there are too many.
func (p *Problems) addBomb(line int, format string, args ...any) {
	if p.full() {
		p.list = p.list[:maxCollected-1]
		p.more++
	}
	p.Add(line, format, args...)
	p.list[len(p.list)-1].Bomb = true
}

func (p *Problems) full() bool { return len(p.list) >= maxCollected }

// bomb returns the index of the problem that ended reading, -1 for none.
func (p *Problems) bomb() int { return slices.IndexFunc(p.list, func(e *Error) bool { return e.Bomb }) }

// Len returns the number of problems.
func (p *Problems) Len() int { return len(p.list) + p.more }

// First returns the problem that ended reading, or else the one found first: an *Error, nil for
// none.
func (p *Problems) First() error {
	if len(p.list) == 0 {
		return nil
	}
	return p.list[max(0, p.bomb())]
}

// Sorted returns the kept problems by line. Those of one line stay in the order found.
func (p *Problems) Sorted() []*Error {
	slices.SortStableFunc(p.list, func(a, b *Error) int { return a.Line - b.Line })
	return p.list
}

// Err returns all problems as an *Errors, nil if there is none.
func (p *Problems) Err() error {
	if len(p.list) == 0 {
		return nil
	}
	e := &Errors{List: p.Sorted(), More: p.more}
	if n := len(e.List); n > maxListed {
		e.List, e.More = slices.Clone(e.List[:maxListed]), e.More+n-maxListed
		if i := p.bomb(); i >= maxListed {
			e.List[maxListed-1] = p.list[i]
		}
	}
	return e
}

// Quote returns text of a file for a message: shortened, and without control characters.
func Quote(s string) string {
	if len(s) > maxQuoted {
		s = strings.ToValidUTF8(s[:maxQuoted], "") + "…"
	}
	return strconv.Quote(s)
}
