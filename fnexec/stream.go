package fnexec

import (
	"bytes"

	"github.com/krmcat/krmcat/internal/bounded"
)

// tailOf returns the kept part of stderr as valid UTF-8. It starts at the beginning of a line,
// unless that would drop half of it or more.
func tailOf(t *bounded.Tail) string {
	b, lost := t.Bytes()
	if i := bytes.IndexByte(b, '\n'); lost && i >= 0 && i < len(b)/2 {
		b = b[i+1:]
	}
	s := string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
	if lost {
		return "[…]\n" + s
	}
	return s
}
