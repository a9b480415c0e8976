package fnexec

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/krmcat/krmcat/sandbox"
)

// ExitError says that a function ran and said no: what a process says by its exit code,
// and a script by fail().
type ExitError struct {
	Code   int    // -1 for one that a signal ended
	Detail string // in the function's or the system's words, "" for none
	Err    error  // the cause, nil for none: a *sandbox.EndedError says which signal
}

func (e *ExitError) Error() string {
	msg := fmt.Sprintf("exit code %d", e.Code)
	var ended *sandbox.EndedError
	switch {
	case e.Code >= 0:
	case errors.As(e.Err, &ended):
		msg = ended.Error()
	default:
		msg = "it was killed"
	}
	if e.Detail != "" {
		detail, _ := excerpt(e.Detail)
		msg += ": " + detail
	}
	return msg
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// signaled and a signal are what engines give for a process that the signal ended.
const signaled = 128

// NewExitError is how a function in a container failed. err is the cause where it is known to be the
// function's own: an engine has but the exit code to tell.
func NewExitError(code int, err error, g sandbox.Grant) *ExitError {
	e := &ExitError{Code: code, Err: err}
	var ended *sandbox.EndedError
	signal := syscall.Signal(code - signaled)
	switch {
	case errors.As(err, &ended):
		signal = ended.Signal
	case signal > 0 && signal <= lastSignal:
		e.Detail = "as of what is ended by " + sandbox.SignalName(signal)
	}
	if signal == syscall.SIGKILL {
		if e.Detail != "" {
			e.Detail += ", "
		}
		e.Detail += fmt.Sprintf("as happens to what takes more than the %d MiB of memory that it may; where it needs more: --memory", g.Limits().Memory>>20)
	}
	return e
}

// lastSignal is the last that Linux has.
const lastSignal = 64

// TimeoutError says that a function took longer than it may.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string { return fmt.Sprintf("it did not end within %s", e.After) }

// OutputLimitError says that a function wrote more to stdout than it may.
type OutputLimitError struct{ Limit int64 }

func (e *OutputLimitError) Error() string {
	return fmt.Sprintf("it wrote more than %d bytes to stdout", e.Limit)
}

// ItemLimitError says that a function returned more resources than it may, or that all
// functions of a render together did.
type ItemLimitError struct {
	Limit int
	Got   int
	All   bool // together
}

func (e *ItemLimitError) Error() string {
	if e.All {
		return fmt.Sprintf("with it, the functions of this render have added %d resources, and together they may add %d", e.Got, e.Limit)
	}
	return fmt.Sprintf("it returned %d resources, and a function may return %d", e.Got, e.Limit)
}

// AddedLimitError says that all functions of a render together added more than they may.
type AddedLimitError struct{ Limit int64 }

func (e *AddedLimitError) Error() string {
	return fmt.Sprintf("with it, the functions of this render have added more than %d bytes, which is all that they may together", e.Limit)
}

// OutputError says what is wrong with what a function wrote to stdout.
type OutputError struct {
	Err  error
	Head string // how stdout begins
}

func (e *OutputError) Error() string {
	msg := "its output cannot be used: " + e.Err.Error()
	if e.Head != "" {
		msg += fmt.Sprintf(" (stdout begins %q)", e.Head)
	}
	return msg
}

// Unwrap returns what is wrong.
func (e *OutputError) Unwrap() error { return e.Err }

// ErrNoOutput says that a function wrote nothing at all to stdout where it has to.
var ErrNoOutput = errors.New("it wrote nothing to stdout, not even an empty list")

// FunctionError says that a function failed, with everything it left behind.
type FunctionError struct {
	Title   string   // which function, for people; set by the caller of Call
	Exit    int      // its exit code, 0 where it ended well
	Stderr  string   // the tail of its stderr
	Results []Result // what it reported, however it ended
	Err     error    // why: *ExitError, *ResultsError, *OutputError, *TimeoutError, …, or several joined
	// Walls are what it seems to have run into of its sandbox; set by the caller of Call.
	Walls []sandbox.Wall
}

// Error says what failed in the first line; results of severity error and an excerpt of
// stderr follow.
func (e *FunctionError) Error() string {
	text, _ := excerpt(e.Stderr)
	return e.text(text)
}

// Full is Error with all of stderr that was kept, "" where Error shows all that is in it.
func (e *FunctionError) Full() string {
	if _, cut := excerpt(e.Stderr); !cut {
		return ""
	}
	return e.text(strings.TrimRight(e.Stderr, " \t\r\n"))
}

func (e *FunctionError) text(stderr string) string {
	var b strings.Builder
	if e.Title != "" {
		b.WriteString(e.Title + ": ")
	}
	b.WriteString("the function failed")
	if e.Err != nil {
		b.WriteString(": " + strings.ReplaceAll(e.Err.Error(), "\n", "; "))
	}
	for _, r := range e.shown() {
		b.WriteString("\n  " + r.String())
	}
	if stderr != "" {
		b.WriteString("\n  stderr: " + strings.ReplaceAll(stderr, "\n", "\n  "))
	}
	for _, w := range e.Walls {
		b.WriteString("\n  the sandbox: " + w.What)
		if w.Try != "" {
			b.WriteString("; where it needs more: " + w.Try)
		}
	}
	return b.String()
}

// shown are the results that made it fail, or say why it did.
func (e *FunctionError) shown() []Result {
	var reported *ResultsError
	if errors.As(e.Err, &reported) {
		return reported.Results
	}
	return FailOnError.among(e.Results)
}

// Unwrap returns why.
func (e *FunctionError) Unwrap() error { return e.Err }
