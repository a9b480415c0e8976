package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxListed    = 20   // problems that one error shows
	maxCollected = 1000 // problems that are kept at all: a hostile file has millions
	maxQuoted    = 60   // bytes of a file's own text that a message repeats
	maxPlain     = 400  // bytes of a name that a message repeats: a group has up to 253
)

// SyntaxError is something wrong in a catalog, at a place.
type SyntaxError struct {
	File string
	Line int // 1-based; 0 where not known
	Msg  string
	Err  error // the cause, nil where Msg says it all
}

// Unwrap returns the cause.
func (e *SyntaxError) Unwrap() error { return e.Err }

func (e *SyntaxError) Error() string {
	switch {
	case e.File == "" && e.Line == 0:
		return e.Msg
	case e.File == "":
		return "line " + strconv.Itoa(e.Line) + ": " + e.Msg
	case e.Line == 0:
		return e.File + ": " + e.Msg
	}
	return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Msg
}

// SyntaxErrors is everything that is wrong in one catalog. It unwraps to each
// *SyntaxError.
type SyntaxErrors struct {
	List []*SyntaxError // the first of them by line; at least one, at most 20
	More int            // how many there are beyond the list
}

// Error gives one problem per line.
func (e *SyntaxErrors) Error() string {
	lines := make([]string, 0, len(e.List)+1)
	for _, s := range e.List {
		lines = append(lines, s.Error())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find a *SyntaxError.
func (e *SyntaxErrors) Unwrap() []error {
	errs := make([]error, len(e.List))
	for i, s := range e.List {
		errs[i] = s
	}
	return errs
}

// problems collects what is wrong in one file.
type problems struct {
	file string
	list []*SyntaxError
	more int
}

func (p *problems) add(line int, format string, args ...any) {
	p.put(&SyntaxError{Line: line, Msg: fmt.Sprintf(format, args...)})
}

// put is add for a problem that has a cause.
func (p *problems) put(e *SyntaxError) {
	if len(p.list) >= maxCollected {
		p.more++
		return
	}
	e.File = p.file
	p.list = append(p.list, e)
}

// sorted gives the problems by line; those of one line stay in the order found.
func (p *problems) sorted() []*SyntaxError {
	slices.SortStableFunc(p.list, func(a, b *SyntaxError) int { return a.Line - b.Line })
	return p.list
}

// err is nil where nothing is wrong, else a *SyntaxErrors.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	e := &SyntaxErrors{List: p.sorted(), More: p.more}
	if n := len(e.List); n > maxListed {
		e.List, e.More = e.List[:maxListed], e.More+n-maxListed
	}
	return e
}

// quote repeats a file's own text in a message, so that it can neither flood the
// message nor write control characters to a terminal.
func quote(s string) string { return strconv.Quote(clip(s, maxQuoted)) }

// plain is quote without the quotes, where there is nothing to quote in a name.
func plain(s string) string {
	s = clip(s, maxPlain)
	if q := strconv.Quote(s); q != `"`+s+`"` {
		return q
	}
	return s
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
