package registry

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/registry/internal/manifest"
	"github.com/krmcat/krmcat/registry/reference"
)

// place is an opened Locator.
type place struct {
	client *Client
	loc    reference.Locator
	ref    string // Display of loc, for errors
	target Target
	blob   int64 // maximum size of one blob, in bytes
}

// read implements fetcher.
func (p *place) read(ctx context.Context, d ocispec.Descriptor) ([]byte, error) {
	return p.get(ctx, d, "file", p.blob)
}

// get returns content by digest, from the cache or the place, and verifies it. Concurrent calls for
// one digest share a request.
func (p *place) get(ctx context.Context, d ocispec.Descriptor, what string, limit int64) ([]byte, error) {
	if err := p.checkSize(d, what, limit); err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%s %s %s %d", p.loc.Scheme, p.loc.Name, d.Digest, d.Size)
	data, err := p.client.reads.Do(ctx, key, func() ([]byte, error) {
		if data, ok := p.cached(d.Digest, limit); ok {
			return data, nil
		}
		data, err := p.fetch(ctx, d)
		if err == nil {
			p.keep(d.Digest, data)
		}
		return data, err
	})
	return data, classify(p.ref, err)
}

func (p *place) checkSize(d ocispec.Descriptor, what string, limit int64) error {
	switch {
	case d.Size < 0 || d.Digest.Validate() != nil || d.Digest.Algorithm() != digest.SHA256:
		return &ManifestError{Ref: p.ref, Err: fmt.Errorf("a descriptor has size %d and digest %q: expected a sha256", d.Size, reference.Clean(d.Digest.String()))}
	case d.Size > limit:
		return &TooLargeError{Ref: p.ref, What: what, Size: d.Size, Limit: limit}
	}
	return nil
}

// cached returns content from the cache. Local content is not cached.
func (p *place) cached(d digest.Digest, limit int64) ([]byte, bool) {
	if p.loc.Local() {
		return nil, false
	}
	return p.client.cache.Get(d, limit)
}

// keep adds content to the cache. Local content is not cached.
func (p *place) keep(d digest.Digest, data []byte) {
	if !p.loc.Local() {
		p.client.cache.Put(d, data)
	}
}

// fetch reads and verifies the content of d. It repeats reading a body that was interrupted; the
// transport repeats requests.
func (p *place) fetch(ctx context.Context, d ocispec.Descriptor) ([]byte, error) {
	var data []byte
	err := p.client.retry.Do(ctx, func() (err error) {
		data, err = p.fetchOnce(ctx, d)
		return err
	})
	return data, err
}

func (p *place) fetchOnce(ctx context.Context, d ocispec.Descriptor) ([]byte, error) {
	rc, err := p.target.Fetch(ctx, d)
	if err != nil {
		return nil, classifyDigest(p.ref, d.Digest, err)
	}
	defer rc.Close()
	return p.readBody(rc, d)
}

// readBody reads and verifies a body of known size.
func (p *place) readBody(rc io.Reader, d ocispec.Descriptor) ([]byte, error) {
	data, err := bounded.Read(rc, d.Size)
	switch {
	case errors.Is(err, bounded.ErrMore):
		return nil, &DigestError{Ref: p.ref, Want: d.Digest, Err: fmt.Errorf("it has more than the announced %d bytes", d.Size)}
	case errors.Is(err, io.ErrUnexpectedEOF), err == nil && int64(len(data)) < d.Size:
		return nil, &DigestError{Ref: p.ref, Want: d.Digest, Err: fmt.Errorf(
			"it ended after %d of %d bytes: %w", len(data), d.Size, io.ErrUnexpectedEOF)}
	case err != nil:
		return nil, &UnreachableError{Ref: p.ref, Err: sanitize(err)}
	}
	return data, manifest.Check(p.ref, d.Digest, data)
}
