package transport

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// A body that brings less than paceBytes in a paceWindow is given up: who sends a byte a
// minute would otherwise be listened to for ever.
const (
	paceWindow = 2 * time.Minute
	paceBytes  = 1 << 10 * int64(paceWindow/time.Second) // 1 KiB a second on average
)

var errTooSlow = errors.New("it sent less than 1 KiB a second for two minutes")

// silenceError is a server's time-out. net/http's own passes for the context's deadline,
// as if our caller had had enough.
type silenceError struct{ text string }

func (e *silenceError) Error() string { return e.text }

// Timeout marks it for retryPolicy.
func (e *silenceError) Timeout() bool { return true }

// Temporary implements net.Error.
func (e *silenceError) Temporary() bool { return true }

// pacer gives every body that comes through it a pace, and a time-out its type.
type pacer struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p pacer) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := p.base.RoundTrip(req)
	if err != nil {
		var n net.Error
		if errors.As(err, &n) && n.Timeout() && req.Context().Err() == nil {
			return nil, &silenceError{err.Error()}
		}
		return nil, err
	}
	resp.Body = &paced{ReadCloser: resp.Body, since: time.Now()}
	return resp, nil
}

// paced counts what comes. A read that brings nothing at all is ended by idleConn.
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
