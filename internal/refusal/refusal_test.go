package refusal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/krmcat/krmcat/internal/refusal"
)

// TestMarks: a mark changes no words and hides no cause, and is found below other errors.
func TestMarks(t *testing.T) {
	t.Parallel()
	cause := fmt.Errorf("too deep: %w", fs.ErrInvalid)
	for _, c := range []struct {
		mark           func(error) error
		content, reach bool
	}{
		{refusal.Content, true, false},
		{refusal.Reach, false, true},
	} {
		if c.mark(nil) != nil {
			t.Error("no error became one")
		}
		err := c.mark(cause)
		if err.Error() != cause.Error() || !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%v", err)
		}
		err = fmt.Errorf("around: %w", errors.Join(err, fs.ErrClosed))
		if errors.Is(err, refusal.ErrContent) != c.content || errors.Is(err, refusal.ErrReach) != c.reach {
			t.Errorf("%v: content %v, reach %v", err, errors.Is(err, refusal.ErrContent), errors.Is(err, refusal.ErrReach))
		}
	}
	if errors.Is(cause, refusal.ErrContent) || errors.Is(cause, refusal.ErrReach) {
		t.Error("it is marked without having been")
	}
}
