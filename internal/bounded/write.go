package bounded

import (
	"bytes"
	"io"
	"sync"
)

// Head keeps the beginning of what is written.
type Head struct {
	Max int64 // bytes
	// Over is called for the first write beyond Max. Its error is that of this and all later
	// writes. Without Over every write succeeds, and what is beyond Max is lost.
	Over func() error

	buf bytes.Buffer
	err error
}

// Write implements io.Writer.
func (h *Head) Write(p []byte) (int, error) {
	room := h.Max - int64(h.buf.Len())
	switch {
	case h.err != nil:
		return 0, h.err
	case int64(len(p)) <= room:
		return h.buf.Write(p)
	case h.Over == nil:
		h.buf.Write(p[:room])
		return len(p), nil
	}
	h.err = h.Over()
	return 0, h.err
}

// Bytes returns what was kept.
func (h *Head) Bytes() []byte { return h.buf.Bytes() }

// Tail keeps the end of what is written. Every write succeeds. It is safe for concurrent use:
// output of a killed process may still arrive while it is read.
type Tail struct {
	Max int       // bytes
	To  io.Writer // gets all bytes; nil for none

	mu   sync.Mutex
	buf  []byte
	lost bool
}

// Write implements io.Writer. The error is that of To.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep(p)
	if t.To == nil {
		return len(p), nil
	}
	return t.To.Write(p)
}

func (t *Tail) keep(p []byte) {
	if n := len(p); n > t.Max {
		p, t.lost = p[n-t.Max:], true
	}
	if over := len(t.buf) + len(p) - 2*t.Max; over > 0 {
		// Twice the size, so that it is moved only once for every Max bytes.
		end := t.buf[len(t.buf)-t.Max:]
		t.buf, t.lost = append(t.buf[:0], end...), true
	}
	t.buf = append(t.buf, p...)
}

// Bytes returns what was kept, and reports whether bytes before it were lost.
func (t *Tail) Bytes() (kept []byte, lost bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.buf); n > t.Max {
		return bytes.Clone(t.buf[n-t.Max:]), true
	}
	return bytes.Clone(t.buf), t.lost
}
