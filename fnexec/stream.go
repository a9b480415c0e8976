package fnexec

import (
	"bytes"

	"github.com/krmcat/krmcat/internal/bounded"
)

// tailOf is what was kept of stderr, as valid UTF-8. Its beginning is cut at a line where that
// costs less than half.
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
