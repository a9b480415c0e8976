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

// trip is everything that is asked because of one question to a place that somebody named: the
// question, the redirects that answer it, and the tokens that it takes.
type trip struct {
	to   *url.URL     // the place; nil for none
	from atomic.Int32 // near: the farthest host that has answered
}

type tripKey struct{}

// setOut begins a trip to a place that was named.
func setOut(ctx context.Context, to *url.URL) context.Context {
	t := &trip{to: to}
	t.from.Store(int32(near.Never))
	return context.WithValue(ctx, tripKey{}, t)
}

// tripOf finds the trip of a request. One that nobody set out on may go everywhere only.
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
	return n.base.RoundTrip(req.WithContext(setOut(req.Context(), req.URL)))
}

// guard keeps strangers from sending this machine to itself, to its neighbours, and to what
// tells a cloud's machines their secrets. A place that was named is asked wherever it is. What
// an answer leads to (a redirect, the realm of a token) may be no nearer to this machine than
// the farthest host that answered on the way: by its name, and by the address that is
// connected to in the end, so that no name server decides it.
type guard struct {
	options Options
	tls     *tls.Config
	named   *http.Transport
	// Connections of those who may go nearer are not used by those who may not.
	mu  sync.Mutex
	led map[near.Distance]*http.Transport
}

func newGuard(o Options, conf *tls.Config) *guard {
	g := &guard{options: o, tls: conf, led: map[near.Distance]*http.Transport{}}
	g.named = g.transport(near.Never)
	return g
}

// transport makes a transport that connects to nothing that is nearer.
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
		// A size that is announced is the size that comes.
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

func (g *guard) ledBy(from near.Distance) *http.Transport {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.led[from] == nil {
		g.led[from] = g.transport(from)
	}
	return g.led[from]
}

// proxyKey is where a request carries the proxy that it takes, or nil.
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
		from := min(near.Distance(t.from.Load()), near.Machine)
		if err := mayLead(t, from, req.URL); err != nil {
			return nil, fmt.Errorf("%s: refused to go there, where an answer leads: %w", req.URL.Host, err)
		}
		via = g.ledBy(from)
	}
	proxy, err := g.options.Proxy(req)
	if err != nil {
		return nil, err
	}
	answers := near.Farthest(req.URL.Hostname())
	ctx := context.WithValue(req.Context(), proxyKey{}, proxy)
	if proxy == nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
			answers = answeredFrom(c.Conn.RemoteAddr())
		}})
	}
	resp, err := via.RoundTrip(req.WithContext(ctx))
	if err == nil && int32(answers) < t.from.Load() {
		t.from.Store(int32(answers))
	}
	return resp, err
}

// named reports whether a URL is at the place that was named, at the same port.
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

// mayLead looks at where an answer leads, by what stands there.
func mayLead(t *trip, from near.Distance, u *url.URL) error {
	switch {
	case t.to != nil && t.to.Scheme == "https" && u.Scheme != "https":
		return errors.New("it goes from https to " + u.Scheme)
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

// answeredFrom is how near the other end of a connection is, in doubt far.
func answeredFrom(a net.Addr) near.Distance {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return near.Plainly(tcp.AddrPort().Addr().Unmap().WithZone(""))
	}
	return near.Everywhere
}

// dialer connects to nothing that is nearer than a limit. A proxy is the user's choice. So is
// an address that was named; a name that stands for a link-local address is somebody else's.
func (g *guard) dialer(limit near.Distance) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		d := net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Resolver: g.options.Resolver}
		proxy, _ := ctx.Value(proxyKey{}).(*url.URL)
		if proxy == nil {
			d.Control = within(limit, addr)
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

// within looks at the very address that is about to be connected to.
func within(limit near.Distance, asked string) func(network, address string, _ syscall.RawConn) error {
	return func(_, to string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(to)
		if err != nil {
			return err
		}
		if host, _, err := net.SplitHostPort(asked); limit == near.Never && err == nil {
			if _, literal := near.Address(host); literal {
				return nil
			}
		}
		if near.ByAddress(at.Addr()) > min(limit, near.Machine) {
			return fmt.Errorf("refused to connect: %w", errTooNear)
		}
		return nil
	}
}
