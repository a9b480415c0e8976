package failure

import (
	"cmp"
	"errors"
	"reflect"
	"regexp"
	"strconv"
)

// Position is a place in a file. Unknown parts have the zero value.
type Position struct {
	File string
	Line int // 1-based
}

// ParsePosition parses FILE or FILE:LINE.
func ParsePosition(text string) Position {
	m := regexp.MustCompile(`^(.*?)(?::(\d+))?$`).FindStringSubmatch(text)
	if m == nil { // a name with a line break in it
		return Position{File: text}
	}
	p := Position{File: m[1]}
	p.Line, _ = strconv.Atoi(m[2])
	return p
}

// String returns FILE:LINE, as compilers print it.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// Details are the parts of an error beside its text. Unknown parts are empty.
type Details struct {
	Message   string   // its text without the content of the other fields; "" if that is the same
	Full      string   // Message with all details, if there are more
	Position  Position // of the mistake in a file of the user
	Step      string   // the function that failed: its kind and name
	Option    string   // the flag that caused it, with its value
	Reference string   // the reference that failed, as written
	Digest    string
	Flag      string // the flags that permit what was refused, quoted for a shell
	Try       string // a command or a flag that may help, and can be typed
	Named     bool   // the text contains Position
	Outer     bool   // it only adds the position of its cause, and the cause is reported
}

// Detailed is an error that has Details.
type Detailed interface {
	error
	Details() Details
}

// Report is one error in the form in which it is printed.
type Report struct {
	Kind Kind
	Details
	// Where has the position and the function to look at, "" if Message has them.
	Where string
}

// Reports returns the reports of an error. The errors of errors.Join, and of an error with a method
// Apart, are reported one by one. Equal reports are merged.
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

// apart returns the errors of one that only joins others, nil for any other error.
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

// details returns the details of an error itself, without those of its causes.
func details(err error) Details {
	d, ok := err.(Detailed) //nolint:errorlint // only the outermost
	if !ok {
		return Details{}
	}
	return d.Details()
}

// report returns the report of one error. Details that it lacks come from its causes.
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

// helps reports whether the hint of an error is for this kind of error.
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

// where returns the flag, or position and function, without a position that the text contains.
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

// walk calls f with an error and all of its causes, in the order of errors.Is.
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
