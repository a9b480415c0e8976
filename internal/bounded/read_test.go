package bounded_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/krmcat/krmcat/internal/bounded"
)

func TestRead(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		r    io.Reader
		want string
		err  error
	}{
		"nothing":        {strings.NewReader(""), "", nil},
		"less":           {strings.NewReader("12"), "12", nil},
		"as much":        {iotest.OneByteReader(strings.NewReader("123")), "123", nil},
		"more":           {strings.NewReader("1234"), "", bounded.ErrMore},
		"more at a time": {iotest.DataErrReader(strings.NewReader("123456789")), "", bounded.ErrMore},
		"an error":       {io.MultiReader(strings.NewReader("12"), iotest.ErrReader(broken)), "12", broken},
		"an error after": {io.MultiReader(strings.NewReader("1234"), iotest.ErrReader(broken)), "", bounded.ErrMore},
	} {
		if got, err := bounded.Read(c.r, 3); string(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %q, %v, want %q, %v", name, got, err, c.want, c.err)
		}
	}
}
