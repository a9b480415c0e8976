package registry

import (
	"net/http"
	"strings"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// repository returns the client of one repository, made once: it remembers tokens.
func (c *Client) repository(l Locator) (*remote.Repository, error) {
	ref, err := l.reference()
	if err != nil {
		return nil, err
	}
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
		Client:             caller{client},
		Reference:          ref,
		PlainHTTP:          c.plainHTTP(ref.Registry),
		ManifestMediaTypes: manifestTypes(),
		MaxMetadataBytes:   c.opts.Limits.Manifest,
		SkipReferrersGC:    true, // who may push may not always delete
	}
	c.repos[l.Name] = r
	return r, nil
}

// plainHTTP decides between http and https: a registry on loopback has no TLS unless an
// option that is about TLS is given.
func (c *Client) plainHTTP(hostport string) bool {
	if c.opts.PlainHTTP {
		return true
	}
	return c.opts.CAFile == "" && !c.opts.Insecure && loopback(hostOnly(hostport))
}

func hostOnly(hostport string) string {
	if i := strings.LastIndexByte(hostport, ':'); i > strings.LastIndexByte(hostport, ']') {
		return hostport[:i]
	}
	return hostport
}

// caller marks the errors of requests that got no answer.
type caller struct{ client *auth.Client }

// Do implements remote.Client.
func (c caller) Do(req *http.Request) (*http.Response, error) {
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, &transportError{err}
	}
	return resp, nil
}
