package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	orasregistry "oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/krmcat/krmcat/internal/shared"
	"github.com/krmcat/krmcat/registry/internal/near"
)

// MaxCAFile bounds Options.CAFile, in bytes.
const MaxCAFile = 4 << 20

// Options say how servers are asked. They are those of registry.Options.
type Options struct {
	PlainHTTP       bool
	Insecure        bool
	CAFile          string
	DockerConfigDir string
	AuthFiles       []string
	UserAgent       string
	Retry           Retry
	Proxy           func(*http.Request) (*url.URL, error)
	Resolver        *net.Resolver
	// Dial connects; nil for the system's own way.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Retry says how often a request is tried again.
type Retry struct {
	Max     int           // tries after the first
	MinWait time.Duration // before the first, doubled after each
	MaxWait time.Duration
}

// Transport asks servers. It is safe for concurrent use.
type Transport struct {
	options Options
	http    *http.Client
	logins  *logins
	plain   shared.Calls[string, bool] // by host of this machine: whether it has no TLS
}

// New makes a Transport. It reads Options.CAFile and nothing else. The error is bounded.ErrMore, or
// what is wrong with that file.
func New(o Options) (*Transport, error) {
	h, err := newHTTPClient(o)
	if err != nil {
		return nil, err
	}
	return &Transport{options: o, http: h, logins: newLogins(o)}, nil
}

// HTTP asks for one URL without a login. The error is an *Error.
func (t *Transport) HTTP(req *http.Request) (*http.Response, error) {
	resp, err := t.http.Do(req.WithContext(setOut(req.Context(), req.URL))) //nolint:gosec // the caller names the place, and the guard says where an answer may lead
	if err != nil {
		return nil, &Error{err}
	}
	return resp, nil
}

// Named asks for what the caller names in every request.
func (t *Transport) Named() http.RoundTripper { return named{t.http.Transport} }

// Repository asks a registry about one repository, with the user's login for it. It remembers tokens.
func (t *Transport) Repository(ref orasregistry.Reference) remote.Client {
	client := &auth.Client{
		Client:     t.http,
		Cache:      auth.NewCache(),
		Credential: t.logins.forRepository(ref.Host(), ref.Repository),
		ClientID:   "krmcat",
	}
	client.SetUserAgent(t.options.UserAgent)
	return caller{client, ref}
}

// PlainHTTP decides between http and https: a registry on loopback has no TLS, unless an
// option that is about TLS is given, and it answers in TLS.
func (t *Transport) PlainHTTP(ctx context.Context, hostport string) bool {
	switch {
	case t.options.PlainHTTP:
		return true
	case !near.Loopback(near.HostOnly(hostport)):
		return false
	case t.options.CAFile == "" && !t.options.Insecure:
		return true
	}
	plain, err := t.plain.Do(ctx, hostport, func() (bool, error) { return speaksPlain(ctx, hostport), nil })
	return err == nil && plain // where ctx ended, the request will not be made
}

// speaksPlain greets a server of this machine in TLS, and tells whether it answers in something
// else. Nothing but the greeting is said. Where there is no answer, it is for the request that
// follows to say so.
func speaksPlain(ctx context.Context, hostport string) bool {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	bare := near.HostOnly(hostport) == hostport
	if bare {
		hostport += ":443"
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", hostport)
	if err != nil {
		return bare // then it may listen on the port of plain http
	}
	defer func() { _ = conn.Close() }()
	hello := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}) //nolint:gosec // it is looked at in the requests that follow
	var other tls.RecordHeaderError
	return errors.As(hello.HandshakeContext(ctx), &other)
}

// caller marks the errors of requests that got no answer, and says which place was named: the
// registry, wherever a request is for.
type caller struct {
	client *auth.Client
	ref    orasregistry.Reference
}

// Do implements remote.Client.
func (c caller) Do(req *http.Request) (*http.Response, error) {
	at := *req.URL
	at.Host = c.ref.Host()
	resp, err := c.client.Do(req.WithContext(setOut(req.Context(), &at)))
	if err != nil {
		return nil, &Error{err}
	}
	return resp, nil
}
