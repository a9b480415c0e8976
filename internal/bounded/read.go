package bounded

import (
	"bytes"
	"errors"
	"io"
)

// ErrMore reports that a reader has more bytes than the limit.
var ErrMore = errors.New("more bytes than allowed")

// Read reads all of r, at most limit bytes. Memory grows with the bytes that are read, not with an
// announced size. The error is ErrMore, or that of r with the bytes before it.
func Read(r io.Reader, limit int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(limit, 4<<10)) + bytes.MinRead) // most content is small
	n, err := b.ReadFrom(io.LimitReader(r, limit+1))
	if n > limit {
		return nil, ErrMore
	}
	return b.Bytes(), err
}
