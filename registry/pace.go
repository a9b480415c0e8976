package registry

import (
	"errors"
	"io"
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

// pacer gives every body that comes through it a pace.
type pacer struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p pacer) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := p.base.RoundTrip(req)
	if err == nil {
		resp.Body = &paced{ReadCloser: resp.Body, since: time.Now()}
	}
	return resp, err
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
