package failure_test

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/krmcat/krmcat/internal/failure"
)

// TestMark: a mark changes no words and hides no cause, and is found below other errors.
func TestMark(t *testing.T) {
	t.Parallel()
	cause := fmt.Errorf("too deep: %w", fs.ErrInvalid)
	for _, k := range []failure.Kind{failure.Untrusted, failure.NotPermitted, failure.Usage} {
		if k.Mark(nil) != nil {
			t.Error("no error became one")
		}
		err := k.Mark(cause)
		if err.Error() != cause.Error() || !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%v", err)
		}
		err = fmt.Errorf("around: %w", errors.Join(err, fs.ErrClosed))
		for _, other := range []failure.Kind{failure.Untrusted, failure.NotPermitted, failure.Usage} {
			if errors.Is(err, other) != (other == k) {
				t.Errorf("marked as %q: as %q it is %v", k, other, errors.Is(err, other))
			}
		}
	}
	if failure.Of(cause) != failure.Unexpected {
		t.Error("it is marked without having been")
	}
}

// TestOf: of several kinds the first in the order of the exit codes' table counts.
func TestOf(t *testing.T) {
	t.Parallel()
	plain := errors.New("plain")
	for _, c := range []struct {
		err  error
		want failure.Kind
	}{
		{nil, failure.Unexpected},
		{plain, failure.Unexpected},
		{fs.ErrNotExist, failure.NotFound},
		{syscall.ENOENT, failure.NotFound},
		{syscall.ENOEXEC, failure.NotFound},
		{failure.Unreachable.Mark(fs.ErrNotExist), failure.NotFound},
		{failure.Untrusted.Mark(fs.ErrNotExist), failure.Untrusted},
		{errors.Join(failure.Function.Mark(plain), failure.Unreachable.Mark(plain)), failure.Unreachable},
		{fmt.Errorf("%w and %w", failure.Untrusted.Mark(plain), failure.NotPermitted.Mark(plain)), failure.NotPermitted},
		{failure.NotPermitted.Mark(failure.Usage.Mark(plain)), failure.Usage},
	} {
		if got := failure.Of(c.err); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}
