package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"sync"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry/internal/manifest"
	"github.com/krmcat/krmcat/registry/internal/transport"
	"github.com/krmcat/krmcat/registry/reference"
)

// webFile is one file at a URL, read without credentials. The content that Resolve saw is kept,
// because the next response may differ.
type webFile struct {
	from  *transport.Transport
	agent string
	url   string
	ref   string
	role  mediatypes.Role
	limit int64

	mu   sync.Mutex
	data []byte
	have bool
}

// Resolve downloads the file.
func (f *webFile) Resolve(ctx context.Context, _ string) (ocispec.Descriptor, error) {
	data, err := f.load(ctx)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d := manifest.Describe(blobType(f.role), data)
	if u, err := url.Parse(f.url); err == nil && u.Path != "" {
		d.Annotations = map[string]string{ocispec.AnnotationTitle: path.Base(u.Path)}
	}
	return d, nil
}

// Fetch returns what was downloaded.
func (f *webFile) Fetch(ctx context.Context, _ ocispec.Descriptor) (io.ReadCloser, error) {
	data, err := f.load(ctx)
	return io.NopCloser(bytes.NewReader(data)), err
}

// Exists reports whether the file was downloaded.
func (f *webFile) Exists(context.Context, ocispec.Descriptor) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.have, nil
}

func (f *webFile) load(ctx context.Context) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.have {
		return f.data, nil
	}
	data, err := f.download(ctx)
	if err == nil {
		f.data, f.have = data, true
	}
	return data, err
}

func (f *webFile) download(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url, nil)
	if err != nil {
		return nil, &reference.Error{Ref: f.ref, Err: errors.New("it is not a URL")}
	}
	req.Header.Set("User-Agent", f.agent)
	resp, err := f.from.HTTP(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		return nil, &NotFoundError{Ref: f.ref}
	case resp.StatusCode != http.StatusOK:
		return nil, &UnreachableError{Ref: f.ref, Status: resp.StatusCode,
			Err: fmt.Errorf("status %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))}
	case resp.ContentLength > f.limit:
		return nil, &TooLargeError{Ref: f.ref, What: "file", Size: resp.ContentLength, Limit: f.limit}
	}
	data, err := bounded.Read(resp.Body, f.limit)
	if errors.Is(err, bounded.ErrMore) {
		return nil, &TooLargeError{Ref: f.ref, What: "file", Limit: f.limit}
	}
	if err != nil {
		return nil, &UnreachableError{Ref: f.ref, Err: sanitize(err)}
	}
	return data, nil
}
