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
	// aheadBuffer and aheadCount are how much of a layer is unpacked ahead of what is written.
	aheadBuffer = 256 << 10
	aheadCount  = 4
	// copyBuffer is for writing and hashing files.
	copyBuffer = 256 << 10
	// maxWindow is how much memory a zstd layer may ask for.
	maxWindow = 128 << 20
)

// layerID is what a layer is known by.
type layerID struct {
	blob digest.Digest // its bytes, as they are fetched
	diff string        // what they unpack to, as the image's config says
}

// layerStream is one layer on its way from the registry to the disk: compressed bytes are
// read, checked and unpacked by a goroutine of its own, so that writing files does not wait
// for it.
type layerStream struct {
	image  string
	id     layerID
	limits bounds

	source io.Reader // checked: ends with an error where the digest is wrong
	sum    hash.Hash // of what was unpacked and read
	in     int64     // bytes read of source
	out    int64     // bytes unpacked
	budget int64     // bytes that may be unpacked

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

// start begins to read. close has to be called.
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

// close ends the goroutine and waits for it. The context of start is cancelled before,
// where it may wait for a registry.
func (s *layerStream) close() {
	close(s.stop)
	for range s.full { // until it is closed
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
		s.full <- aheadChunk{buf[:n], err} // there is room: only so many buffers are about
		if err != nil {
			return
		}
	}
}

// within refuses what unpacks to too much.
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

// ending is how a layer ended. Bytes that do not unpack are most often not those of the
// digest: that is looked at first, and is known when all have been read.
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
		_, _ = s.sum.Write(c.data) // a hash takes everything
		s.buf, s.cur, s.end = c.data[:cap(c.data)], c.data, c.err
	}
	n := copy(p, s.cur)
	s.cur = s.cur[n:]
	return n, nil
}

// rest reads what follows the last entry: zeros, and then the end that says that all bytes
// were those of the digest. What they unpacked to has to be what the image's config says: that
// holds for what was read here, wherever the layer lay since its own digest was checked.
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

// damage is what makes bytes no archive.
type damage struct{ err error }

func (d *damage) Error() string { return "it is not a tar archive, or a damaged one: " + d.err.Error() }
func (d *damage) Unwrap() error { return d.err }

// failure gives what reading an archive ended with its type. Bytes that are no archive are
// most often not those of the digest.
func (s *layerStream) failure(entry string, err error) error {
	var limit *LimitError
	var problem *Error
	if errors.As(err, &limit) || errors.As(err, &problem) {
		return err
	}
	var d *damage
	for errors.As(err, &d) && s.end == nil {
		s.cur = nil
		_, _ = s.Read(make([]byte, 1)) // what it ends with counts
	}
	if s.end != nil && !errors.Is(s.end, io.EOF) {
		return s.end
	}
	var path *os.PathError
	var link *os.LinkError
	if errors.As(err, &path) || errors.As(err, &link) {
		return fmt.Errorf("unpacking image %s: %w", s.image, err) // the disk's fault, not the image's
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

// decompress tells from its first bytes how a layer is compressed: its media type is what
// somebody wrote.
func decompress(src *bufio.Reader) (r io.Reader, done func(), err error) {
	head, err := src.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(src) // a fifth faster than the standard library's
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
