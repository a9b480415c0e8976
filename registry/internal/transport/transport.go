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

// MaxCAFile is the maximum size of Options.CAFile, in bytes.
const MaxCAFile = 4 << 20

// Options say how servers are requested. registry.Options documents the fields.
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
	// Watch is told of each body that is sent or read; it may be nil.
	Watch func(*Transfer)
	// Dial connects; nil for net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Retry says how often and when a request is repeated.
type Retry struct {
	Max     int           // attempts after the first
	MinWait time.Duration // before the first, doubled after each
	MaxWait time.Duration
}

// Transport sends requests to servers. It is safe for concurrent use.
type Transport struct {
	options Options
	http    *http.Client
	logins  *logins
	plain   shared.Calls[string, bool] // by loopback host: whether it has no TLS
}

// New returns a Transport. It reads only Options.CAFile. The error is about that file:
// bounded.ErrMore, or that it cannot be read or parsed.
func New(o Options) (*Transport, error) {
	h, err := newHTTPClient(o)
	if err != nil {
		return nil, err
	}
	return &Transport{options: o, http: h, logins: newLogins(o)}, nil
}

// HTTP sends a request for one URL without credentials. The error is an *Error.
func (t *Transport) HTTP(req *http.Request) (*http.Response, error) {
	resp, err := t.http.Do(req.WithContext(withTrip(req.Context(), req.URL))) //nolint:gosec // the caller names the place, and guard limits redirects
	if err != nil {
		return nil, &Error{err}
	}
	return resp, nil
}

// Named returns a RoundTripper that treats the URL of every request as a named place.
func (t *Transport) Named() http.RoundTripper { return named{t.http.Transport} }

// Repository returns a client for one repository of a registry, with the user's credentials for it.
// It caches tokens.
func (t *Transport) Repository(ref orasregistry.Reference) remote.Client {
	return t.client(ref, t.logins.forRepository(ref.Host(), ref.Repository))
}

// LoggedIn returns a client for a registry with these credentials.
func (t *Transport) LoggedIn(ref orasregistry.Reference, cred auth.Credential) remote.Client {
	return t.client(ref, auth.StaticCredential(ref.Host(), cred))
}

func (t *Transport) client(ref orasregistry.Reference, cred auth.CredentialFunc) remote.Client {
	client := &auth.Client{Client: t.http, Cache: auth.NewCache(), Credential: cred, ClientID: "krmcat"}
	client.SetUserAgent(t.options.UserAgent)
	return caller{client, ref}
}

// PlainHTTP reports whether a registry is requested over http. By default, a registry on loopback
// has no TLS. If a TLS option is given, the registry is asked for a TLS handshake first.
func (t *Transport) PlainHTTP(ctx context.Context, hostport string) bool {
	switch {
	case t.options.PlainHTTP:
		return true
	case !near.Loopback(near.HostOnly(hostport)):
		return false
	case t.options.CAFile == "" && !t.options.Insecure:
		return true
	}
	plain, err := t.plain.Do(ctx, hostport, func() (bool, error) { return respondsWithoutTLS(ctx, hostport), nil })
	return err == nil && plain // if ctx ended, no request follows
}

// respondsWithoutTLS starts a TLS handshake with a local server, and reports whether the response
// is something else. It sends only the handshake. If there is no response, the next request reports
// the error.
func respondsWithoutTLS(ctx context.Context, hostport string) bool {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	bare := near.HostOnly(hostport) == hostport
	if bare {
		hostport += ":443"
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", hostport)
	if err != nil {
		return bare // it may listen on port 80
	}
	defer func() { _ = conn.Close() }()
	hello := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}) //nolint:gosec // the requests that follow verify the certificate
	var other tls.RecordHeaderError
	return errors.As(hello.HandshakeContext(ctx), &other)
}

// caller marks errors of requests without a response, and begins a trip to the registry with each
// request.
type caller struct {
	client *auth.Client
	ref    orasregistry.Reference
}

// Do implements remote.Client.
func (c caller) Do(req *http.Request) (*http.Response, error) {
	at := *req.URL
	at.Host = c.ref.Host()
	resp, err := c.client.Do(req.WithContext(withTrip(req.Context(), &at)))
	if err != nil {
		return nil, &Error{err}
	}
	return resp, nil
}
