package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry/internal/manifest"
	"github.com/krmcat/krmcat/registry/internal/transport"
)

// Open streams one of the artifact's Files, or its Config, without holding it in memory and without
// adding it to the cache: for layers of images, which are stored unpacked. It reads from the cache
// if possible. The Read that would return io.EOF returns a *DigestError if the digest does not
// match; the caller must then discard what it has read. A lost connection is resumed at the same
// offset. Other errors, of Open and of Read, are those of Resolve. ctx must be valid until Close.
func (a Artifact) Open(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	f, ok := a.file(d.Digest)
	if !ok {
		return nil, fmt.Errorf("%s has no file %s", a.From.Display(), d.Digest)
	}
	return a.store.open(ctx, f)
}

// file returns the descriptor of the artifact with a digest.
func (a Artifact) file(d digest.Digest) (ocispec.Descriptor, bool) {
	if a.store == nil || d == "" {
		return ocispec.Descriptor{}, false
	}
	for _, f := range a.Files {
		if f.Digest == d {
			return f, true
		}
	}
	return a.Config, a.Config.Digest == d
}

func (h literalStore) open(_ context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(h.data)), manifest.Check(h.ref, d.Digest, h.data)
}

// open implements fetcher.
func (p *place) open(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	if err := p.checkSize(d, "file", p.blob); err != nil {
		return nil, err
	}
	s := &stream{place: p, desc: d, hash: sha256.New(), ctxErr: ctx.Err}
	if !p.loc.Local() {
		if rc, ok := p.client.cache.Open(d.Digest, d.Size); ok {
			s.body = rc
			return s, nil
		}
	}
	s.reopen = func(offset int64) (io.ReadCloser, error) { return p.fetchFrom(ctx, d, offset) }
	s.wait = func(attempt int) error { return transport.Sleep(ctx, p.client.retry.Wait(attempt)) }
	var err error
	if s.body, err = s.reopen(0); err != nil {
		return nil, classify(p.ref, err)
	}
	return s, nil
}

// fetchFrom opens a blob at an offset, with a range request if the place supports it, or else by
// reading and discarding the beginning.
func (p *place) fetchFrom(ctx context.Context, d ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	rc, err := p.target.Fetch(ctx, d)
	if err != nil {
		return nil, classifyDigest(p.ref, d.Digest, err)
	}
	if offset == 0 {
		return rc, nil
	}
	if s, ok := rc.(io.Seeker); ok {
		if _, err := s.Seek(offset, io.SeekStart); err == nil {
			return rc, nil
		}
	}
	if _, err := io.CopyN(io.Discard, rc, offset); err != nil {
		rc.Close()
		return nil, &UnreachableError{Ref: p.ref, Err: sanitize(err)}
	}
	return rc, nil
}

// stream reads one blob and verifies its digest at the end.
type stream struct {
	place   *place
	desc    ocispec.Descriptor
	reopen  func(offset int64) (io.ReadCloser, error) // nil if attempts cannot be repeated
	wait    func(attempt int) error
	ctxErr  func() error // Err of the context: reading stops even if data is available
	body    io.ReadCloser
	hash    hash.Hash
	n       int64 // bytes returned
	attempt int
	end     error
}

// Read implements io.Reader.
func (s *stream) Read(b []byte) (int, error) {
	if s.end != nil || len(b) == 0 {
		return 0, s.end
	}
	if s.end = s.ctxErr(); s.end != nil {
		return 0, s.end
	}
	left := s.desc.Size - s.n
	if left == 0 {
		s.end = s.finish()
		return 0, s.end
	}
	n, err := s.body.Read(b[:min(int64(len(b)), left)])
	if n > 0 {
		_, _ = s.hash.Write(b[:n]) // never fails
		s.n += int64(n)
	}
	if err != nil && s.n < s.desc.Size {
		s.end = s.resume(err)
	}
	return n, s.end
}

// resume reopens an interrupted body, or returns the error.
func (s *stream) resume(err error) error {
	for {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("it ended after %d of %d bytes: %w", s.n, s.desc.Size, io.ErrUnexpectedEOF)
		}
		if s.reopen == nil || !s.place.client.retry.Again(s.attempt, err) {
			break
		}
		if err := s.wait(s.attempt); err != nil {
			return classify(s.place.ref, err)
		}
		s.attempt++
		var body io.ReadCloser
		if body, err = s.reopen(s.n); err == nil {
			_ = s.body.Close()
			s.body = body
			return nil
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &DigestError{Ref: s.place.ref, Want: s.desc.Digest, Err: err}
	}
	return classify(s.place.ref, err)
}

// finish checks that the body ends, and compares the digest.
func (s *stream) finish() error {
	var more [1]byte
	if n, _ := io.ReadFull(s.body, more[:]); n > 0 {
		return &DigestError{Ref: s.place.ref, Want: s.desc.Digest, Err: fmt.Errorf("it has more than the announced %d bytes", s.desc.Size)}
	}
	got := digest.NewDigestFromBytes(digest.SHA256, s.hash.Sum(nil))
	if got != s.desc.Digest {
		return &DigestError{Ref: s.place.ref, Want: s.desc.Digest, Got: got}
	}
	return io.EOF
}

// Close implements io.Closer.
func (s *stream) Close() error { return s.body.Close() }
