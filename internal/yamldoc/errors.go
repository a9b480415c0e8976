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

// Error is something wrong in a document, at a place.
type Error struct {
	File  string // as a person calls it; "" where not known
	Line  int    // 1-based; 0 where not known
	Field string // runtime.exec.platforms[1].os; "" for the whole, or where not known
	Msg   string
	Err   error // the cause, nil where Msg says it all
	// Bomb is set where reading on would take more memory or stack than any real document
	// needs: nobody else should read the text either.
	Bomb bool
}

// Error gives the position before the message: "file:3: spec.rules: must be a list".
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

// Text is the message with the field, and without file and line.
func (e *Error) Text() string { return strings.TrimPrefix(e.Field+": ", ": ") + e.Msg }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is tells errors.Is of a bomb that it was refused for safety.
func (e *Error) Is(other error) bool { return e.Bomb && other == failure.Untrusted }

// Errors is everything that is wrong in one document or file. It unwraps to each *Error.
type Errors struct {
	List []*Error // the first of them by line; at least one, at most 20
	More int      // how many there are beyond the list
}

// Error gives one problem per line.
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

// Unwrap lets errors.As find each *Error.
func (e *Errors) Unwrap() []error {
	errs := make([]error, len(e.List))
	for i, one := range e.List {
		errs[i] = one
	}
	return errs
}

// Problems collects what is wrong in one file. The zero value is ready for use.
type Problems struct {
	File string // as a person calls it; "" where not known
	list []*Error
	more int
	// meant has for a mapping the names that its unknown fields were taken for.
	meant map[*yaml.Node][]string
}

// Add records a problem of the whole document, or of the line. What %w names is its cause.
func (p *Problems) Add(line int, format string, args ...any) {
	if e := p.problem(line, format, args...); e != nil {
		p.list = append(p.list, e)
	}
}

// problem makes a problem that is to be kept. Of very many, those that come late are only counted.
func (p *Problems) problem(line int, format string, args ...any) *Error {
	if p.full() {
		p.more++
		return nil
	}
	msg := fmt.Errorf(format, args...)
	return &Error{File: p.File, Line: line, Msg: msg.Error(), Err: errors.Unwrap(msg)}
}

// addAt records a problem of a value, which may have been read twice.
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

// addBomb keeps a problem that reading ends with, however many there are.
func (p *Problems) addBomb(line int, format string, args ...any) {
	if p.full() {
		p.list = p.list[:maxCollected-1]
		p.more++
	}
	p.Add(line, format, args...)
	p.list[len(p.list)-1].Bomb = true
}

func (p *Problems) full() bool { return len(p.list) >= maxCollected }

// bomb is the index of the problem that reading ended with, -1 for none.
func (p *Problems) bomb() int { return slices.IndexFunc(p.list, func(e *Error) bool { return e.Bomb }) }

// Len is how many problems there are.
func (p *Problems) Len() int { return len(p.list) + p.more }

// First is the problem that reading ended with, else the one that was found first: an *Error, nil
// for none.
func (p *Problems) First() error {
	if len(p.list) == 0 {
		return nil
	}
	return p.list[max(0, p.bomb())]
}

// Sorted gives the problems that are kept by line; those of one line stay in the order found.
func (p *Problems) Sorted() []*Error {
	slices.SortStableFunc(p.list, func(a, b *Error) int { return a.Line - b.Line })
	return p.list
}

// Err is nil where nothing is wrong, else an *Errors.
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

// Quote repeats a file's own text in a message, so that it can neither flood the message nor
// write control characters to a terminal.
func Quote(s string) string {
	if len(s) > maxQuoted {
		s = strings.ToValidUTF8(s[:maxQuoted], "") + "…"
	}
	return strconv.Quote(s)
}
