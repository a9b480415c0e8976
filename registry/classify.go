package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/krmcat/krmcat/registry/internal/problem"
	"github.com/krmcat/krmcat/registry/internal/transport"
	"github.com/krmcat/krmcat/registry/reference"
)

// classify converts an error to one of this package's types. The text contains no queries of URLs,
// no control characters, and at most one line of what a registry sent.
func classify(ref string, err error) error {
	var answer *errcode.ErrorResponse
	var logins *LoginFileError
	switch {
	case err == nil:
		return nil
	case problem.Placed(err):
		return err
	case errors.As(err, &logins):
		return logins
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", ref, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", ref, context.DeadlineExceeded)
	case errors.Is(err, errdef.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return &NotFoundError{Ref: ref}
	case errors.As(err, &answer):
		if answer.StatusCode == http.StatusNotFound {
			return &NotFoundError{Ref: ref}
		}
		plain := answer.URL != nil && answer.URL.Scheme == "http"
		return &UnreachableError{Ref: ref, Status: answer.StatusCode, Plain: plain, Err: errors.New(statusText(answer))}
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return &UnreachableError{Ref: ref, Status: http.StatusUnauthorized, Err: errors.New("there are no credentials for this registry")}
	}
	return &UnreachableError{Ref: ref, Err: sanitize(err)}
}

// classifyDigest is classify for a request by digest: an invalid response is a DigestError.
func classifyDigest(ref string, want digest.Digest, err error) error {
	var unanswered *transport.Error
	c := classify(ref, err)
	var missing *NotFoundError
	if errors.As(c, &missing) {
		missing.Digest = want
		return missing
	}
	var unreachable *UnreachableError
	if !errors.As(c, &unreachable) || unreachable.Status != 0 || errors.As(err, &unanswered) || transport.TimedOut(err) {
		return c
	}
	return &DigestError{Ref: ref, Want: want, Err: unreachable.Err}
}

func statusText(e *errcode.ErrorResponse) string {
	s := fmt.Sprintf("status %d %s", e.StatusCode, http.StatusText(e.StatusCode))
	if len(e.Errors) > 0 {
		s += ": " + reference.Clean(e.Errors[0].Code+" "+e.Errors[0].Message)
	}
	return strings.TrimSpace(s)
}

// sanitizedError shows a safe text and keeps the cause for errors.Is.
type sanitizedError struct {
	text string
	err  error
}

// Error returns the safe text.
func (e *sanitizedError) Error() string { return e.text }

// Unwrap returns the cause.
func (e *sanitizedError) Unwrap() error { return e.err }

func sanitize(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		text := u.Err.Error()
		if host := hostOf(u.URL); host != "" && !strings.Contains(text, host) {
			text = host + ": " + text
		}
		return &sanitizedError{reference.Clean(text), err}
	}
	return &sanitizedError{reference.Clean(err.Error()), err}
}

func hostOf(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return u.Host
}
