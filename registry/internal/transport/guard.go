package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/krmcat/krmcat/registry/internal/near"
)

// trip is the set of requests that one request for a named place leads to: the request itself, its
// redirects, and its token requests.
type trip struct {
	to   *url.URL     // the named place; nil for none
	from atomic.Int32 // a near.Distance: that of the farthest host that has responded
}

type tripKey struct{}

// withTrip begins a trip to a named place.
func withTrip(ctx context.Context, to *url.URL) context.Context {
	t := &trip{to: to}
	t.from.Store(int32(near.Forbidden))
	return context.WithValue(ctx, tripKey{}, t)
}

// tripOf returns the trip of a request. Without one, only public hosts are permitted.
func tripOf(ctx context.Context) *trip {
	if t, ok := ctx.Value(tripKey{}).(*trip); ok {
		return t
	}
	return &trip{}
}

// named begins a trip with every request.
type named struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	return n.base.RoundTrip(req.WithContext(withTrip(req.Context(), req.URL)))
}

// guard prevents servers from directing requests to this machine, its private networks and the
// metadata services of clouds. A named place is always requested. A redirect or a token realm must
// not be nearer to this machine than the farthest host that has responded. Both its name and the
// address of the connection are checked, so that a name server cannot bypass the check. See
// docs/adr/0023.
type guard struct {
	options Options
	tls     *tls.Config
	named   *http.Transport
	// A connection of a trip that may go nearer must not be used by one that may not.
	mu         sync.Mutex
	redirected map[near.Distance]*http.Transport
}

func newGuard(o Options, conf *tls.Config) *guard {
	g := &guard{options: o, tls: conf, redirected: map[near.Distance]*http.Transport{}}
	g.named = g.transport(near.Forbidden)
	return g
}

// transport returns a transport that connects to no address nearer than limit.
func (g *guard) transport(limit near.Distance) *http.Transport {
	return &http.Transport{
		Proxy:                 proxyOf,
		DialContext:           g.dialer(limit),
		TLSClientConfig:       g.tls,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: headerTimeout,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   8,
		// With compression, the body could be larger than its Content-Length.
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

func (g *guard) forRedirect(from near.Distance) *http.Transport {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.redirected[from] == nil {
		g.redirected[from] = g.transport(from)
	}
	return g.redirected[from]
}

// proxyKey is the context key of the proxy of a request.
type proxyKey struct{}

func proxyOf(req *http.Request) (*url.URL, error) {
	u, _ := req.Context().Value(proxyKey{}).(*url.URL)
	return u, nil
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	t := tripOf(req.Context())
	via := g.named
	if !t.named(req.URL) {
		from := min(near.Distance(t.from.Load()), near.ThisMachine)
		if err := checkStep(t, from, req.URL); err != nil {
			return nil, fmt.Errorf("%s: refused to follow a redirect or token realm: %w", req.URL.Host, err)
		}
		via = g.forRedirect(from)
	}
	proxy, err := g.options.Proxy(req)
	if err != nil {
		return nil, err
	}
	answers := near.FarthestByName(req.URL.Hostname())
	ctx := context.WithValue(req.Context(), proxyKey{}, proxy)
	if proxy == nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
			answers = distanceOf(c.Conn.RemoteAddr())
		}})
	}
	resp, err := via.RoundTrip(req.WithContext(ctx))
	if err == nil && int32(answers) < t.from.Load() {
		t.from.Store(int32(answers))
	}
	return resp, err
}

// named reports whether a URL has the scheme, host and port of the named place.
func (t *trip) named(u *url.URL) bool {
	return t.to != nil && u.User == nil && t.to.Scheme == u.Scheme && strings.EqualFold(hostAndPort(t.to), hostAndPort(u))
}

func hostAndPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// checkStep checks a redirect or token realm by its URL.
func checkStep(t *trip, from near.Distance, u *url.URL) error {
	switch {
	case t.to != nil && t.to.Scheme == "https" && u.Scheme != "https":
		return errors.New("it leads from https to " + u.Scheme)
	case u.User != nil:
		return errors.New("it contains credentials")
	case !near.ASCII(u.Hostname()):
		return errors.New("its host is not ASCII")
	case near.ByName(u.Hostname()) > from:
		return errTooNear
	}
	return nil
}

var errTooNear = errors.New("it is an address of this machine, of its network or of its cloud")

// distanceOf returns how near the remote address of a connection is, Public if unknown.
func distanceOf(a net.Addr) near.Distance {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return near.ByOneAddress(tcp.AddrPort().Addr().Unmap().WithZone(""))
	}
	return near.Public
}

// dialer returns a function that connects to no address nearer than limit. A proxy is the user's
// choice and is not limited, nor is a named IP address. A name that resolves to a link-local
// address is refused.
func (g *guard) dialer(limit near.Distance) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		d := net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Resolver: g.options.Resolver}
		proxy, _ := ctx.Value(proxyKey{}).(*url.URL)
		if proxy == nil {
			d.Control = limitDistance(limit, addr)
		}
		dial := d.DialContext
		if g.options.Dial != nil {
			dial = g.options.Dial
		}
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &idleConn{c}, nil
	}
}

// limitDistance checks the address of a connection before it is made.
func limitDistance(limit near.Distance, asked string) func(network, address string, _ syscall.RawConn) error {
	return func(_, to string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(to)
		if err != nil {
			return err
		}
		if host, _, err := net.SplitHostPort(asked); limit == near.Forbidden && err == nil {
			if _, literal := near.Address(host); literal {
				return nil
			}
		}
		if near.ByAddress(at.Addr()) > min(limit, near.ThisMachine) {
			return fmt.Errorf("refused to connect: %w", errTooNear)
		}
		return nil
	}
}
