package image_test

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/krmcat/krmcat/fnexec/container/internal/image"
	"github.com/krmcat/krmcat/internal/failure"
)

// TestKinds: what is refused of an image is not trusted, whatever is behind it.
func TestKinds(t *testing.T) {
	t.Parallel()
	for want, errs := range map[failure.Kind][]error{
		failure.Untrusted: {&image.Error{Err: fs.ErrNotExist}, &image.LimitError{}, &image.ChangedError{}},
		failure.NotFound:  {&image.UnfitError{}, &image.NotHereError{}, &image.NoCacheError{}},
		failure.Usage:     {&image.NotComparedError{}},
	} {
		for _, err := range errs {
			if got := failure.Of(fmt.Errorf("around: %w", err)); got != want {
				t.Errorf("%T: got %q, want %q", err, got, want)
			}
		}
	}
}
