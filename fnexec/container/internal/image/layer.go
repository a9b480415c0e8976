package image

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
)

const (
	// aheadBuffer and aheadCount bound what is decompressed ahead of what is written.
	aheadBuffer = 256 << 10
	aheadCount  = 4
	// copyBuffer is used to write and hash files.
	copyBuffer = 256 << 10
	// maxWindow bounds the memory for decompressing zstd.
	maxWindow = 128 << 20
)

// layerID holds the digests of a layer.
type layerID struct {
	blob digest.Digest // of the compressed bytes, as in the manifest
	diff string        // of the uncompressed bytes, as in the image's config
}

// layerStream decompresses a layer. A goroutine of its own reads, verifies and decompresses, so
// that writing files does not wait for it.
type layerStream struct {
	image  string
	id     layerID
	limits bounds

	source io.Reader // verified: reading fails if the digest is wrong
	sum    hash.Hash // of the uncompressed bytes
	in     int64     // compressed bytes that were read
	out    int64     // uncompressed bytes that were delivered
	budget int64     // uncompressed bytes that are allowed

	full chan aheadChunk
	free chan []byte
	stop chan struct{}
	cur  []byte // unread part of buf
	buf  []byte
	end  error
}

type aheadChunk struct {
	data []byte
	err  error
}

// start starts the goroutine. The caller must call close.
func (s *layerStream) start(ctx context.Context) {
	s.full = make(chan aheadChunk, aheadCount)
	s.free = make(chan []byte, aheadCount)
	s.stop = make(chan struct{})
	s.sum = sha256.New()
	for range aheadCount {
		s.free <- make([]byte, aheadBuffer)
	}
	go func() {
		defer close(s.full)
		s.produce(ctx)
	}()
}

// close ends the goroutine and waits for it. If it may be waiting for a registry, the context of
// start must be cancelled before.
func (s *layerStream) close() {
	close(s.stop)
	for range s.full { // until the goroutine closes it
	}
}

func (s *layerStream) produce(ctx context.Context) {
	src := bufio.NewReaderSize(&countedReader{s.source, &s.in}, 64<<10)
	r, done, err := decompress(src)
	if err == nil {
		defer done()
	}
	for {
		var buf []byte
		select {
		case buf = <-s.free:
		case <-s.stop:
			return
		}
		n := 0
		for n < len(buf) && err == nil {
			var m int
			m, err = r.Read(buf[n:])
			n += m
		}
		if err == nil {
			err = ctx.Err()
		}
		if s.out += int64(n); err == nil || errors.Is(err, io.EOF) {
			err = s.within(err)
		}
		if err != nil {
			err = s.ending(src, err)
		}
		s.full <- aheadChunk{buf[:n], err} // never blocks: the number of buffers is limited
		if err != nil {
			return
		}
	}
}

// within refuses a layer that decompresses to too many bytes.
func (s *layerStream) within(err error) error {
	refuse := func(what string, limit int64) error {
		return &LimitError{Image: s.image, Layer: s.id.blob, What: what, Limit: limit}
	}
	switch {
	case s.out > s.budget:
		return refuse("bytes unpacked", s.limits.bytes)
	case s.out > s.limits.ratioFrom && s.out/s.limits.ratio > s.in:
		return refuse("bytes unpacked from each byte", s.limits.ratio)
	}
	return err
}

// ending returns the error at the end of a layer. Bytes that cannot be decompressed mostly have
// the wrong digest. That error is preferred, and known after all bytes were read.
func (s *layerStream) ending(src io.Reader, err error) error {
	var limit *LimitError
	if errors.As(err, &limit) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	n, digestErr := io.Copy(io.Discard, src)
	switch {
	case digestErr != nil:
		return digestErr
	case !errors.Is(err, io.EOF):
		return s.problem("", fmt.Errorf("it does not unpack: %w", err))
	case n > 0:
		return s.problem("", fmt.Errorf("%d bytes follow its end", n))
	}
	return io.EOF
}

func (s *layerStream) problem(entry string, err error) error {
	return &Error{Image: s.image, Layer: s.id.blob, Entry: entry, Err: err}
}

// Read implements io.Reader.
func (s *layerStream) Read(p []byte) (int, error) {
	for len(s.cur) == 0 {
		if s.end != nil {
			return 0, s.end
		}
		if s.buf != nil {
			s.free <- s.buf
		}
		c, ok := <-s.full
		if !ok {
			return 0, io.ErrClosedPipe
		}
		_, _ = s.sum.Write(c.data) // never fails
		s.buf, s.cur, s.end = c.data[:cap(c.data)], c.data, c.err
	}
	n := copy(p, s.cur)
	s.cur = s.cur[n:]
	return n, nil
}

// rest reads what follows the last entry: zeros, and the end, at which the digest of the
// compressed bytes is verified. The uncompressed bytes must have the digest in the image's
// config. That verifies what was read here, even if the file changed after its own digest was
// verified.
func (s *layerStream) rest() error {
	buf := make([]byte, 32<<10)
	for {
		n, err := s.Read(buf)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return s.problem("", errors.New("something follows the end of its archive"))
		}
		if errors.Is(err, io.EOF) {
			return s.fits()
		}
		if err != nil {
			return err
		}
	}
}

func (s *layerStream) fits() error {
	got := digest.NewDigestFromBytes(digest.SHA256, s.sum.Sum(nil))
	if got.String() != s.id.diff {
		return s.problem("", fmt.Errorf("it unpacks to %s, and the image's config says %.100q", got, s.id.diff))
	}
	return nil
}

// damage is an error of reading a tar archive.
type damage struct{ err error }

// Error says that the archive is damaged.
func (d *damage) Error() string { return "it is not a tar archive, or a damaged one: " + d.err.Error() }

// Unwrap returns the cause.
func (d *damage) Unwrap() error { return d.err }

// failure returns the error of reading an archive. Bytes that are no archive mostly have the
// wrong digest, and that error is preferred.
func (s *layerStream) failure(entry string, err error) error {
	var limit *LimitError
	var problem *Error
	if errors.As(err, &limit) || errors.As(err, &problem) {
		return err
	}
	var d *damage
	for errors.As(err, &d) && s.end == nil {
		s.cur = nil
		_, _ = s.Read(make([]byte, 1)) // the error at the end of the stream counts
	}
	if s.end != nil && !errors.Is(s.end, io.EOF) {
		return s.end
	}
	var path *os.PathError
	var link *os.LinkError
	if errors.As(err, &path) || errors.As(err, &link) {
		return fmt.Errorf("unpacking image %s: %w", s.image, err) // an error of the disk, not of the image
	}
	return s.problem(entry, err)
}

type countedReader struct {
	r io.Reader
	n *int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	*c.n += int64(n)
	return n, err
}

// decompress recognises the compression of a layer by its first bytes. Media types may be wrong.
func decompress(src *bufio.Reader) (r io.Reader, done func(), err error) {
	head, err := src.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(src) // a fifth faster than the one of the standard library
		return z, func() {}, err
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}), len(head) == 4 && head[0]>>4 == 5 && bytes.Equal(head[1:], []byte{0x2a, 0x4d, 0x18}):
		z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return src, func() {}, nil
}
