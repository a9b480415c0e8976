package failure

import (
	"cmp"
	"errors"
	"reflect"
	"regexp"
	"strconv"
)

// Position is a place in a file. What is not known is its zero value.
type Position struct {
	File string
	Line int // 1-based
}

// ParsePosition is the position that FILE or FILE:LINE stands for.
func ParsePosition(text string) Position {
	m := regexp.MustCompile(`^(.*?)(?::(\d+))?$`).FindStringSubmatch(text)
	if m == nil { // a name with a line break in it
		return Position{File: text}
	}
	p := Position{File: m[1]}
	p.Line, _ = strconv.Atoi(m[2])
	return p
}

// String writes it as compilers do.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// Details is what an error knows beside its text. What it does not know is empty.
type Details struct {
	Message   string   // its text without what the other fields say; "" where that is the text itself
	Full      string   // Message with all that is known, where that is more
	Position  Position // in a file of the user's, where something is wrong
	Step      string   // the function that it is about: its kind and name
	Option    string   // the flag that names what it is about, with its value
	Reference string   // what it is about, as written
	Digest    string
	Flag      string // the flags that permit what was refused, as a shell reads them
	Try       string // what may help: a command or a flag that can be typed
	Named     bool   // the text names Position
	Outer     bool   // it only says where its cause stands: that is reported
}

// Detailed is an error that has Details.
type Detailed interface {
	error
	Details() Details
}

// Report is one error, as it is shown.
type Report struct {
	Kind Kind
	Details
	// Where is what a person has to look at: position and function. "" where Message names it.
	Where string
}

// Reports takes an error apart: those of errors.Join, and of an error with a method Apart, are
// reported each by itself, and what says the same is reported once.
func Reports(err error) []Report {
	seen := map[Report]bool{}
	var out []Report
	for _, r := range reports(err) {
		if !seen[r] {
			seen[r] = true
			out = append(out, r)
		}
	}
	return out
}

func reports(err error) []Report {
	var out []Report
	if list := apart(err); list != nil {
		for _, one := range list {
			out = append(out, reports(one)...)
		}
		return out
	}
	top := details(err)
	if !top.Outer {
		return []Report{report(err, top)}
	}
	for _, r := range reports(errors.Unwrap(err)) {
		r.Where = join(top.where(), r.Where)
		r.Step = cmp.Or(r.Step, top.Step)
		if r.Position == (Position{}) {
			r.Position = top.Position
		}
		out = append(out, r)
	}
	return out
}

// apart lists the errors of one that only holds them, nil for any other.
func apart(err error) []error {
	several, ok := err.(interface{ Apart() []error })
	if ok {
		return several.Apart()
	}
	if reflect.TypeOf(err) != reflect.TypeOf(errors.Join(Unexpected)) { // its type has no name
		return nil
	}
	joined, _ := err.(interface{ Unwrap() []error })
	return joined.Unwrap()
}

// details is what an error knows itself.
func details(err error) Details {
	d, ok := err.(Detailed) //nolint:errorlint // only the outermost
	if !ok {
		return Details{}
	}
	return d.Details()
}

// report shows one error. What it does not know itself, an error below it may.
func report(err error, top Details) Report {
	r := Report{Kind: Of(err), Where: top.where(), Details: top}
	r.Message = cmp.Or(top.Message, err.Error())
	r.Flag, r.Try = "", ""
	walk(err, func(e error) {
		d := details(e)
		if r.Position == (Position{}) {
			r.Position = d.Position
		}
		r.Step = cmp.Or(r.Step, d.Step)
		r.Reference, r.Digest = cmp.Or(r.Reference, d.Reference), cmp.Or(r.Digest, d.Digest)
		if r.Flag == "" && r.Try == "" && (r.helps(e)) {
			r.Flag, r.Try = d.Flag, cmp.Or(d.Try, d.Flag)
		}
	})
	return r
}

// helps reports whether what an error offers is for this kind, and not for another.
func (r Report) helps(e error) bool {
	is, ok := e.(interface{ Is(error) bool })
	if !ok || is.Is(r.Kind) {
		return true
	}
	for _, k := range kinds() {
		if is.Is(k) {
			return false
		}
	}
	return true
}

// where is the flag, or position and function, but a position that the text names.
func (d Details) where() string {
	if d.Named {
		d.Position = Position{}
	}
	switch {
	case d.Option != "":
		return d.Option
	case d.Step == "":
		return d.Position.String()
	case d.Position == (Position{}):
		return d.Step
	}
	return d.Position.String() + ": " + d.Step
}

func join(where, inner string) string {
	if where == "" || inner == "" {
		return where + inner
	}
	return where + ", " + inner
}

// walk calls f with an error and all below it, as errors.Is looks at them.
func walk(err error, f func(error)) {
	f(err)
	switch e := err.(type) { //nolint:errorlint // one after the other
	case interface{ Unwrap() error }:
		if below := e.Unwrap(); below != nil {
			walk(below, f)
		}
	case interface{ Unwrap() []error }:
		for _, below := range e.Unwrap() {
			if below != nil {
				walk(below, f)
			}
		}
	}
}
