package cosign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/krmcat/krmcat/internal/failure"
)

// Dial starts a judge, package judge in this process or in a separate one, and connects to it. It
// responds to each Request with a Response. Closing the connection ends it.
type Dial func(ctx context.Context) (io.ReadWriteCloser, error)

// Method verifies and makes cosign signatures with a judge that is started at the first request. It
// is safe for concurrent use.
type Method struct {
	dial Dial
	mu   sync.Mutex // protects the fields below and the connection: one request at a time
	line io.ReadWriteCloser
	last uint64
}

// New returns the method. What is trusted depends only on the demands, not on any default.
func New(dial Dial) *Method { return &Method{dial: dial} }

// Close ends the judge. A later request starts another one.
func (m *Method) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hangUp()
}

func (m *Method) hangUp() {
	if m.line != nil {
		_ = m.line.Close()
	}
	m.line = nil
}

// Name implements verify.Method.
func (*Method) Name() string { return "cosign" }

// patience is the timeout of a response, which usually takes a few milliseconds.
const patience = time.Minute

// maxAsks is the maximum number of service requests for one signature, which usually needs three.
const maxAsks = 16

// errNoAnswer means that the judge gave no response, or an invalid one.
var errNoAnswer = errors.New("the judge of signatures gave no valid response")

// ask sends a request to the judge. After an error the connection is closed, and the next request
// starts another judge.
func (m *Method) ask(ctx context.Context, q Request, services *services) (Response, error) {
	if m.dial == nil {
		return Response{}, failure.Untrusted.Mark(errors.New("this program has no judge of signatures"))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Response{}, context.Cause(ctx)
	}
	if m.line == nil {
		line, err := m.dial(ctx)
		if err != nil {
			return Response{}, failure.Untrusted.Mark(fmt.Errorf("starting the judge of signatures: %w", err))
		}
		m.line = line
	}
	m.last++
	q.ID = m.last
	a, err := m.talk(ctx, q, services)
	if err != nil {
		m.hangUp()
		if ctx.Err() != nil {
			return Response{}, context.Cause(ctx)
		}
		return Response{}, failure.Untrusted.Mark(fmt.Errorf("%w: %w", errNoAnswer, err))
	}
	if a.Failure != nil {
		return Response{}, a.Failure.err(services.said())
	}
	return a, nil
}

// talk performs a request with a timeout. A response that arrives while the connection is being
// closed is an error, because the connection cannot be used again.
func (m *Method) talk(ctx context.Context, q Request, services *services) (Response, error) {
	line := m.line
	stop := context.AfterFunc(ctx, func() { _ = line.Close() })
	impatient := time.AfterFunc(patience, func() { _ = line.Close() })
	a, err := exchange(ctx, line, q, services, impatient)
	stopped := stop()
	if (!impatient.Stop() || !stopped) && err == nil {
		err = errors.New("it responds too late")
	}
	return a, err
}

// exchange sends a request, and performs the service requests of the judge until it responds.
func exchange(ctx context.Context, line io.ReadWriter, q Request, services *services, impatient *time.Timer) (Response, error) {
	if err := Send(line, q); err != nil {
		return Response{}, err
	}
	for asks := 0; ; asks++ {
		var a Response
		err := Receive(line, &a)
		switch {
		case err != nil:
			return Response{}, err
		case a.ID != q.ID:
			return Response{}, errors.New("it responds to another request")
		case a.Ask == nil:
			return a, nil
		case asks == maxAsks:
			return Response{}, errors.New("it makes too many service requests")
		}
		impatient.Stop() // the transport has timeouts of its own
		got, err := services.get(ctx, *a.Ask)
		if err != nil {
			return Response{}, err
		}
		impatient.Reset(patience)
		if err := Send(line, got); err != nil {
			return Response{}, err
		}
	}
}

// services are the services that a judge may use, nil for none.
type services struct {
	urls   []string
	by     http.RoundTripper
	failed error // the last error of the transport
}

func (s *services) said() error {
	if s == nil {
		return nil
	}
	return s.failed
}

// get performs a service request of a judge. If the service does not respond, the Answer says so.
func (s *services) get(ctx context.Context, a Ask) (Answer, error) {
	if s == nil || !s.known(a.URL) {
		return Answer{}, errors.New("it requests a service that was not given")
	}
	req, err := http.NewRequestWithContext(ctx, a.Method, a.URL, bytes.NewReader(a.Body))
	if err != nil {
		return Answer{}, err
	}
	if a.Header != nil {
		req.Header = a.Header
	}
	resp, err := s.by.RoundTrip(req)
	if ctx.Err() != nil {
		return Answer{}, context.Cause(ctx) // not an error of the service
	}
	if err != nil {
		s.failed = err
		return Answer{Failed: err.Error()}, nil
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if ctx.Err() != nil {
		return Answer{}, context.Cause(ctx)
	}
	if err != nil {
		s.failed = err
		return Answer{Failed: err.Error()}, nil
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}, nil
}

// known reports whether a URL is below that of a service.
func (s *services) known(url string) bool {
	for _, base := range s.urls {
		base = strings.TrimRight(base, "/")
		if base != "" && (url == base || strings.HasPrefix(url, base+"/")) {
			return true
		}
	}
	return false
}
