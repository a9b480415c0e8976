package fnexec

import (
	"bytes"
	"sync"
)

// cappedBuffer keeps what is written, up to a limit; beyond it, it calls over and
// refuses.
type cappedBuffer struct {
	buf      bytes.Buffer
	limit    int64
	over     func(error)
	exceeded bool
}

func (c *cappedBuffer) Write(p []byte) (int, error) {
	if int64(c.buf.Len())+int64(len(p)) > c.limit {
		err := &OutputLimitError{Limit: c.limit}
		c.exceeded = true
		c.over(err)
		return 0, err
	}
	return c.buf.Write(p)
}

// tail keeps the end of what is written, and never refuses. Its beginning is cut at a
// line where that costs less than half.
type tail struct {
	mu   sync.Mutex // a killed process's output may still arrive while it is read
	buf  []byte
	max  int
	lost bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if n > t.max {
		p, t.lost = p[n-t.max:], true
	}
	if over := len(t.buf) + len(p) - 2*t.max; over > 0 {
		// Twice the size, so that it is moved once for every max bytes only.
		keep := t.buf[len(t.buf)-t.max:]
		t.buf, t.lost = append(t.buf[:0], keep...), true
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// String returns the tail as valid UTF-8.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, lost := t.buf, t.lost
	if len(b) > t.max {
		b, lost = b[len(b)-t.max:], true
	}
	if i := bytes.IndexByte(b, '\n'); lost && i >= 0 && i < len(b)/2 {
		b = b[i+1:]
	}
	s := string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
	if lost {
		return "[…]\n" + s
	}
	return s
}
