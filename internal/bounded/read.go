package bounded

import (
	"bytes"
	"errors"
	"io"
)

// ErrMore says that a reader holds more than it may.
var ErrMore = errors.New("more bytes than allowed")

// Read reads all of r, at most limit bytes. Memory grows with what comes, not with what was
// announced. The error is ErrMore, or the reader's, with what came before it.
func Read(r io.Reader, limit int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(limit, 4<<10)) + bytes.MinRead) // most of what is read is small
	n, err := b.ReadFrom(io.LimitReader(r, limit+1))
	if n > limit {
		return nil, ErrMore
	}
	return b.Bytes(), err
}
