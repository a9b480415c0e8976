package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"

	orasregistry "oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/krmcat/krmcat/registry/internal/near"
	"github.com/krmcat/krmcat/registry/reference"
)

// repository returns the client of one repository, made once: it remembers tokens.
func (c *Client) repository(ctx context.Context, l reference.Locator) (*remote.Repository, error) {
	ref, err := referenceOf(l)
	if err != nil {
		return nil, err
	}
	plain := c.plainHTTP(ctx, ref.Registry)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.repos[l.Name]; ok {
		return r, nil
	}
	client := &auth.Client{
		Client:     c.http,
		Cache:      auth.NewCache(),
		Credential: c.logins.forRepository(ref.Host(), ref.Repository),
		ClientID:   "krmcat",
	}
	client.SetUserAgent(c.opts.UserAgent)
	r := &remote.Repository{
		Client:             caller{client, ref},
		Reference:          ref,
		PlainHTTP:          plain,
		ManifestMediaTypes: manifestTypes(),
		MaxMetadataBytes:   c.opts.Limits.Manifest,
		SkipReferrersGC:    true, // who may push may not always delete
	}
	c.repos[l.Name] = r
	return r, nil
}

// referenceOf is what the registry client calls the place.
func referenceOf(l reference.Locator) (orasregistry.Reference, error) {
	ref, err := orasregistry.ParseReference(l.Name)
	if err != nil {
		return ref, reference.Refuse(l.String(), errors.New("it is not host/repository"))
	}
	return ref, nil
}

// plainHTTP decides between http and https: a registry on loopback has no TLS, unless an
// option that is about TLS is given, and it answers in TLS.
func (c *Client) plainHTTP(ctx context.Context, hostport string) bool {
	switch {
	case c.opts.PlainHTTP:
		return true
	case !near.Loopback(near.HostOnly(hostport)):
		return false
	case c.opts.CAFile == "" && !c.opts.Insecure:
		return true
	}
	c.mu.Lock()
	plain, known := c.plain[hostport]
	c.mu.Unlock()
	if !known {
		plain = speaksPlain(ctx, hostport)
		c.mu.Lock()
		c.plain[hostport] = plain
		c.mu.Unlock()
	}
	return plain
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
		return nil, &transportError{err}
	}
	return resp, nil
}
