package fnexec

// What the errors of this package mean to the user, for package failure.

import (
	"strconv"
	"time"

	"github.com/krmcat/krmcat/internal/failure"
)

// Is implements the kind of the error for errors.Is.
func (*ProgramError) Is(kind error) bool { return kind == failure.NotFound }

// Is implements the kind of the error for errors.Is.
func (*TimeoutError) Is(kind error) bool { return kind == failure.Function }

// Details implements failure.Detailed.
func (e *TimeoutError) Details() failure.Details {
	return failure.Details{Try: "--timeout " + max(2*e.After, time.Second).String()}
}

// Is implements the kind of the error for errors.Is.
func (*ItemLimitError) Is(kind error) bool { return kind == failure.Function }

// Details implements failure.Detailed.
func (e *ItemLimitError) Details() failure.Details {
	return failure.Details{Try: "--max-items " + strconv.Itoa(e.Got)}
}

// Is implements the kind of the error for errors.Is.
func (*FunctionError) Is(kind error) bool { return kind == failure.Function }

// Details implements failure.Detailed.
func (e *FunctionError) Details() failure.Details { return failure.Details{Full: e.Full()} }
