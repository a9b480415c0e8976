package fnexec

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/krmcat/krmcat/sandbox"
)

// ExitError reports that a function ran and failed: a process by its exit code, a script by
// fail().
type ExitError struct {
	Code   int    // -1 if a signal ended it
	Detail string // text of the function or of the system; "" for none
	Err    error  // the cause; nil for none; a *sandbox.EndedError names the signal
}

// Error names the exit code or the signal.
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

// signaled plus a signal's number is the exit code that engines report for that signal.
const signaled = 128

// NewExitError returns the failure of a function in a container. err is the cause if it is known
// to be the function's own. A container engine reports only an exit code.
func NewExitError(code int, err error, g sandbox.Grant) *ExitError {
	e := &ExitError{Code: code, Err: err}
	var ended *sandbox.EndedError
	signal := syscall.Signal(code - signaled)
	switch {
	case errors.As(err, &ended):
		signal = ended.Signal
	case signal > 0 && signal <= lastSignal:
		e.Detail = "it seems to have been ended by " + sandbox.SignalName(signal)
	}
	if signal == syscall.SIGKILL {
		if e.Detail != "" {
			e.Detail += ", "
		}
		e.Detail += fmt.Sprintf("as happens when it uses more than its %d MiB of memory; to allow more: --memory SIZE", g.Limits().Memory>>20)
	}
	return e
}

// lastSignal is the highest signal number of Linux.
const lastSignal = 64

// TimeoutError reports that a function exceeded its time limit.
type TimeoutError struct{ After time.Duration }

// Error names the limit.
func (e *TimeoutError) Error() string { return fmt.Sprintf("it did not end within %s", e.After) }

// OutputLimitError reports that a function wrote more to stdout than its limit, in bytes.
type OutputLimitError struct{ Limit int64 }

// Error names the limit.
func (e *OutputLimitError) Error() string {
	return fmt.Sprintf("it wrote more than %d bytes to stdout", e.Limit)
}

// ItemLimitError reports that a function, or all functions of a render together, returned more
// resources than the limit.
type ItemLimitError struct {
	Limit int
	Got   int
	All   bool // the limit is for all functions together
}

// Error names the number and the limit.
func (e *ItemLimitError) Error() string {
	if e.All {
		return fmt.Sprintf("with it, the functions of this render have added %d resources: the limit is %d", e.Got, e.Limit)
	}
	return fmt.Sprintf("it returned %d resources: the limit is %d", e.Got, e.Limit)
}

// AddedLimitError reports that all functions of a render together added more than the limit, in
// bytes.
type AddedLimitError struct{ Limit int64 }

// Error names the limit.
func (e *AddedLimitError) Error() string {
	return fmt.Sprintf("with it, the functions of this render have added more than %d bytes, the limit for all of them", e.Limit)
}

// OutputError reports that the stdout of a function cannot be used.
type OutputError struct {
	Err  error
	Head string // the beginning of stdout
}

// Error quotes the beginning of stdout.
func (e *OutputError) Error() string {
	msg := "its output cannot be used: " + e.Err.Error()
	if e.Head != "" {
		msg += fmt.Sprintf(" (stdout begins %q)", e.Head)
	}
	return msg
}

// Unwrap returns the cause.
func (e *OutputError) Unwrap() error { return e.Err }

// ErrNoOutput reports that a function wrote nothing to stdout and has to write something.
var ErrNoOutput = errors.New("it wrote nothing to stdout, not even an empty list")

// FunctionError reports that a function failed, with all that is known about it.
type FunctionError struct {
	Title   string   // the function, for people; set by the caller of Call
	Exit    int      // its exit code; 0 if it succeeded
	Stderr  string   // the end of its stderr
	Results []Result // its results, even if it failed
	Err     error    // the cause: *ExitError, *ResultsError, *OutputError, *TimeoutError, …, or several joined
	// Restrictions are restrictions of the sandbox that it seems to have met; set by the caller
	// of Call.
	Restrictions []sandbox.Restriction
}

// Error names the cause in its first line. Results of severity error and an excerpt of stderr
// follow.
func (e *FunctionError) Error() string {
	text, _ := excerpt(e.Stderr)
	return e.text(text)
}

// Full returns Error with the whole Stderr; "" if Error shows all of it already.
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
	for _, r := range e.Results {
		if e.Blames(r) {
			b.WriteString("\n  " + r.String())
		}
	}
	if stderr != "" {
		b.WriteString("\n  stderr: " + strings.ReplaceAll(stderr, "\n", "\n  "))
	}
	for _, w := range e.Restrictions {
		b.WriteString("\n  the sandbox: " + w.What)
		if w.Try != "" {
			b.WriteString("; to allow more: " + w.Try)
		}
	}
	return b.String()
}

// Blames reports whether a result is among those that Error shows as the reason of the failure.
func (e *FunctionError) Blames(r Result) bool {
	rule := FailOnError
	var reported *ResultsError
	if errors.As(e.Err, &reported) {
		rule = reported.FailOn
	}
	return rule.fails(r)
}

// Unwrap returns the cause.
func (e *FunctionError) Unwrap() error { return e.Err }
