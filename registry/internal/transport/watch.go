package transport

import (
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
)

// Transfer is the body of a request or of a response on its way.
type Transfer struct {
	Method string // of the request
	URL    string // without user and query, which may hold secrets
	Status int    // of the response; 0 for the body of a request
	Size   int64  // in bytes, -1 if unknown

	moved atomic.Int64
	done  atomic.Bool
}

// Moved returns the number of bytes so far.
func (t *Transfer) Moved() int64 { return t.moved.Load() }

// Done reports whether the body has ended.
func (t *Transfer) Done() bool { return t.done.Load() }

// watched tells watch of each body when it begins.
type watched struct {
	base  http.RoundTripper
	watch func(*Transfer)
}

// RoundTrip implements http.RoundTripper.
func (w watched) RoundTrip(req *http.Request) (*http.Response, error) {
	if w.watch == nil {
		return w.base.RoundTrip(req)
	}
	if req.Body != nil && req.Body != http.NoBody {
		sent := &Transfer{Method: req.Method, URL: bare(req.URL), Size: req.ContentLength}
		again := *req
		again.Body = &counted{req.Body, sent}
		req = &again
		w.watch(sent)
	}
	resp, err := w.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	got := &Transfer{Method: req.Method, URL: bare(req.URL), Status: resp.StatusCode, Size: resp.ContentLength}
	resp.Body = &counted{resp.Body, got}
	w.watch(got)
	return resp, nil
}

// bare is a URL without what may be secret.
func bare(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// counted counts the bytes of a body.
type counted struct {
	io.ReadCloser
	t *Transfer
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.t.moved.Add(int64(n))
	if err != nil {
		c.t.done.Store(true)
	}
	return n, err
}

// Close implements io.Closer.
func (c *counted) Close() error {
	c.t.done.Store(true)
	return c.ReadCloser.Close()
}
