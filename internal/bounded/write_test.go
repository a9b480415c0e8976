package bounded_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/bounded"
)

// pieces are ways to write the same.
func pieces() [][]string {
	return [][]string{{"0123456789"}, strings.Split("0123456789", ""), {"012", "3456789"}, {"0123", "456789"}, {"012345678", "9"}, {"", "0123456789", ""}}
}

func TestHead(t *testing.T) {
	t.Parallel()
	for _, max := range []int64{0, 3, 4, 9, 10, 11} {
		for _, parts := range pieces() {
			h := &bounded.Head{Max: max}
			for _, p := range parts {
				if n, err := io.WriteString(h, p); n != len(p) || err != nil {
					t.Fatalf("%d, %v", n, err)
				}
			}
			if want := "0123456789"[:min(max, 10)]; string(h.Bytes()) != want {
				t.Errorf("%d of %q: got %q", max, parts, h.Bytes())
			}
		}
	}
}

// TestHeadOver: the write that is too much fails, with what is kept a whole number of writes.
func TestHeadOver(t *testing.T) {
	t.Parallel()
	enough, asked := errors.New("enough"), 0
	h := &bounded.Head{Max: 4, Over: func() error { asked++; return enough }}
	for _, c := range []struct {
		text string
		n    int
		err  error
	}{{"abc", 3, nil}, {"de", 0, enough}, {"f", 0, enough}, {"", 0, enough}} {
		if n, err := io.WriteString(h, c.text); n != c.n || !errors.Is(err, c.err) {
			t.Errorf("%q: %d, %v", c.text, n, err)
		}
	}
	if string(h.Bytes()) != "abc" || asked != 1 {
		t.Errorf("got %q, asked %d times", h.Bytes(), asked)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	for _, max := range []int{1, 3, 4, 9, 10, 11} {
		for _, parts := range pieces() {
			var all strings.Builder
			tail := &bounded.Tail{Max: max, To: &all}
			for _, p := range parts {
				if n, err := io.WriteString(tail, p); n != len(p) || err != nil {
					t.Fatalf("%d, %v", n, err)
				}
			}
			got, lost := tail.Bytes()
			if want := "0123456789"[start(10-max):]; string(got) != want || lost != (max < 10) || all.String() != "0123456789" {
				t.Errorf("%d of %q: got %q, lost %v, passed on %q", max, parts, got, lost, all.String())
			}
		}
	}
}

// start is where the end of a text begins.
func start(n int) int { return max(n, 0) }
