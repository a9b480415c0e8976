package transport

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// Reading a body fails if it has fewer than paceBytes in a paceWindow. A server that sends one byte
// per minute would otherwise block a command.
const (
	paceWindow = 2 * time.Minute
	paceBytes  = 1 << 10 * int64(paceWindow/time.Second) // 1 KiB a second on average
)

var errTooSlow = errors.New("it sent less than 1 KiB a second for two minutes")

// timeoutError is the timeout of a server. The error of net/http also matches
// context.DeadlineExceeded, as if the caller had canceled the request.
type timeoutError struct{ text string }

// Error returns the text of net/http's error.
func (e *timeoutError) Error() string { return e.text }

// Timeout implements net.Error. retryPolicy uses it.
func (e *timeoutError) Timeout() bool { return true }

// Temporary implements net.Error.
func (e *timeoutError) Temporary() bool { return true }

// pacer checks the speed of response bodies, and converts timeouts to timeoutError.
type pacer struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p pacer) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := p.base.RoundTrip(req)
	if err != nil {
		var n net.Error
		if errors.As(err, &n) && n.Timeout() && req.Context().Err() == nil {
			return nil, &timeoutError{err.Error()}
		}
		return nil, err
	}
	resp.Body = &paced{ReadCloser: resp.Body, since: time.Now()}
	return resp, nil
}

// paced counts the bytes of a body. idleConn ends a Read that returns nothing at all.
type paced struct {
	io.ReadCloser
	since time.Time // start of the window
	bytes int64     // in the window
}

// Read implements io.Reader.
func (b *paced) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes += int64(n)
	if err != nil || time.Since(b.since) < paceWindow {
		return n, err
	}
	if b.bytes < paceBytes {
		return n, errTooSlow
	}
	b.since, b.bytes = time.Now(), 0
	return n, nil
}
