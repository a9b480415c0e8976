package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/krmcat/krmcat/registry"
)

// maxAnswer is the maximum length of a service response, in bytes.
const maxAnswer = 1 << 20

// service is one of the services. The zero value is none.
type service struct {
	name string
	url  string // without a slash at the end
}

func newService(name, at string) (service, error) {
	if at == "" {
		return service{}, fmt.Errorf("keyless signing: the %s is not given", name)
	}
	u, err := url.Parse(at)
	switch {
	case err != nil:
		// The error contains the URL, which may contain a password.
		return service{}, fmt.Errorf("%s: it is not a URL", name)
	case u.User != nil:
		return service{}, fmt.Errorf("%s %s: a URL with credentials is not supported", name, clean(u.Redacted(), maxWords))
	case u.Scheme != "https" && u.Scheme != "http", u.Host == "", u.RawQuery != "", u.Fragment != "":
		return service{}, fmt.Errorf("%s %q: want https://HOST", name, clean(at, maxWords))
	}
	return service{name: name, url: strings.TrimRight(at, "/")}, nil
}

// private reports whether requests are encrypted or stay on this machine.
func (s service) private() bool {
	u, err := url.Parse(s.url)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || (err == nil && ip.IsLoopback())
}

// asked is a function as a http.RoundTripper.
type asked func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (a asked) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// by returns a transport for one service: with ctx, which sigstore-go does not pass on, a limited
// response, and an error for responses other than success.
func (k *keyless) by(ctx context.Context, s service) http.RoundTripper {
	return asked(func(r *http.Request) (*http.Response, error) {
		resp, err := k.o.Transport.RoundTrip(r.WithContext(ctx))
		if err != nil {
			return nil, k.unreachable(ctx, s, 0, err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
		switch {
		case err != nil:
			return nil, k.unreachable(ctx, s, 0, err)
		case len(body) > maxAnswer:
			return nil, k.unreachable(ctx, s, 0, fmt.Errorf("the response of the %s has more than %d bytes", s.name, maxAnswer))
		case resp.StatusCode >= 500, resp.StatusCode == http.StatusTooManyRequests:
			return nil, k.unreachable(ctx, s, resp.StatusCode, errors.New(k.said(s, resp.StatusCode, body)))
		case resp.StatusCode < 200 || resp.StatusCode > 299:
			return nil, &RefusedError{Service: s.name, URL: s.url, Status: resp.StatusCode, Said: k.message(body)}
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		return resp, nil
	})
}

// unreachable returns the error of a service that did not respond, or of ctx if that has ended.
func (k *keyless) unreachable(ctx context.Context, s service, status int, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if status == 0 {
		err = &silentError{said: k.clean(err.Error()), err: err}
	}
	return &registry.UnreachableError{Ref: s.url, Status: status, Err: err}
}

// silentError is an error of the transport with a sanitised text.
type silentError struct {
	said string
	err  error
}

// Error returns one clean line.
func (e *silentError) Error() string { return e.said }

// Unwrap returns the cause.
func (e *silentError) Unwrap() error { return e.err }

func (k *keyless) said(s service, status int, body []byte) string {
	out := fmt.Sprintf("the %s responded with status %d", s.name, status)
	if m := k.message(body); m != "" {
		out += ": " + m
	}
	return out
}

// message returns the message of a response: Fulcio and Rekor wrap it in JSON.
func (k *keyless) message(body []byte) string {
	var wrapped struct{ Message string }
	if err := json.Unmarshal(body, &wrapped); err == nil && wrapped.Message != "" {
		return k.clean(wrapped.Message)
	}
	return k.clean(string(body))
}
