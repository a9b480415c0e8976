package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/krmcat/krmcat/registry/internal/store"
)

const (
	maxRedirects = 5
	dialTimeout  = 15 * time.Second
	// headerTimeout limits the time from the end of a request to the header of its response.
	headerTimeout = 30 * time.Second
	// timeoutRetries is how often a request is repeated after a timeout. Each attempt looks
	// like a hang, and a server that did not respond once rarely responds later.
	timeoutRetries = 1
	// idleTimeout ends a connection without any traffic.
	idleTimeout = 2 * time.Minute
)

func newHTTPClient(o Options) (*http.Client, error) {
	conf, err := tlsConfig(o)
	if err != nil {
		return nil, err
	}
	p := retryPolicy{o.Retry}
	return &http.Client{
		Transport:     &retry.Transport{Base: pacer{watched{newGuard(o, conf), o.Watch}}, Policy: func() retry.Policy { return p }},
		CheckRedirect: checkRedirect,
	}, nil
}

func tlsConfig(o Options) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Insecure} //nolint:gosec // the user asked for it with --insecure
	if o.CAFile == "" {
		return conf, nil
	}
	pem, err := store.Disk{}.Read(o.CAFile, MaxCAFile)
	if err != nil {
		return nil, fmt.Errorf("reading certificates: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading certificates: %s contains none in PEM format", o.CAFile)
	}
	conf.RootCAs = pool
	return conf, nil
}

// idleConn extends its deadline with every read and write: a body may take long, but must not stop.
// pacer checks its speed.
type idleConn struct{ net.Conn }

// Read implements net.Conn.
func (c *idleConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write implements net.Conn.
func (c *idleConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// checkRedirect limits the number of redirects, and removes the Referer. guard limits their
// targets. oras-go's auth client, and net/http for plain requests, send no credentials to another
// host.
func checkRedirect(req *http.Request, via []*http.Request) error {
	// net/http sets it to the whole URL, whose query may contain a signature.
	req.Header.Del("Referer")
	if len(via) > maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	return nil
}

// retryPolicy implements oras-go's retry.Policy.
type retryPolicy struct{ r Retry }

// Retry returns how long to wait before the next attempt, negative for no further attempt.
func (p retryPolicy) Retry(attempt int, resp *http.Response, err error) (time.Duration, error) {
	if attempt >= p.r.tries(err) || !isTransient(resp, err) {
		return -1, nil
	}
	if resp != nil {
		if asked, ok := retryAfter(resp); ok {
			if asked > p.r.MaxWait {
				return -1, nil
			}
			return max(asked, p.r.MinWait), nil
		}
	}
	return p.r.Wait(attempt), nil
}

// tries returns how often a request may be repeated after err.
func (r Retry) tries(err error) int {
	if TimedOut(err) {
		return min(r.Max, timeoutRetries)
	}
	return r.Max
}

// Again reports whether to repeat reading a body after err. A timeout without a response is not
// repeated, because the transport has already done that.
func (r Retry) Again(attempt int, err error) bool {
	if TimedOut(err) && errors.As(err, new(*Error)) {
		return false
	}
	return isInterrupted(err) && attempt < r.tries(err)
}

// Do calls try, which reads a body, until it succeeds or must not be repeated.
func (r Retry) Do(ctx context.Context, try func() error) error {
	for attempt := 0; ; attempt++ {
		err := try()
		if err == nil || !r.Again(attempt, err) {
			return err
		}
		if err := Sleep(ctx, r.Wait(attempt)); err != nil {
			return err
		}
	}
}

// Wait returns the time before the next attempt. It doubles with every attempt, and has a random
// part so that clients do not all come back at once.
func (r Retry) Wait(attempt int) time.Duration {
	w := min(r.MinWait<<min(attempt, 16), r.MaxWait)
	return w - time.Duration(rand.Int64N(int64(w)/5+1)) //nolint:gosec // not security relevant
}

func isTransient(resp *http.Response, err error) bool {
	if err != nil {
		return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || connectionLost(err)
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusRequestTimeout:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return resp.StatusCode >= 500
}

// wsaeconnreset is ECONNRESET of Windows.
const wsaeconnreset = syscall.Errno(10054)

func connectionLost(err error) bool {
	if ended(err) {
		return false
	}
	return TimedOut(err) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, wsaeconnreset)
}

// TimedOut reports whether a server timed out, not the context of the caller.
func TimedOut(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout() && !ended(err)
}

// ended reports whether the context of the caller ended.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// retryAfter parses the Retry-After header: seconds or a date.
func retryAfter(resp *http.Response) (time.Duration, bool) {
	v := resp.Header.Get("Retry-After")
	if s, err := strconv.Atoi(v); err == nil && s >= 0 {
		return time.Duration(min(s, 1<<20)) * time.Second, true
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(time.Until(t), 0), true
	}
	return 0, false
}

// Sleep waits, or returns the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
