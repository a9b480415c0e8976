package cosign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry"
)

// KeySigner signs with a private key.
type KeySigner struct {
	method *Method
	with   Request
	public []byte // PEM
}

// LoadSigner reads a private key as cosign writes it: PEM, encrypted. It signs in the given forms,
// in order; the default is a bundle. A wrong password is ErrPassword, a private key in another
// format a *KeyTypeError.
func (m *Method) LoadSigner(key, password []byte, forms ...Form) (*KeySigner, error) {
	with := Request{Op: OpKey, Key: bytes.Clone(key), Password: bytes.Clone(password), Forms: slices.Clone(forms)}
	a, err := m.ask(context.Background(), with, nil)
	if err != nil {
		return nil, err
	}
	if len(a.Public) == 0 {
		return nil, failure.Untrusted.Mark(errNoAnswer)
	}
	with.Op = OpSign
	return &KeySigner{method: m, with: with, public: a.Public}, nil
}

// PublicKey returns the public key in PEM (PUBLIC KEY).
func (s *KeySigner) PublicKey() []byte { return bytes.Clone(s.public) }

// Sign implements Signer.
func (s *KeySigner) Sign(ctx context.Context, c Claim) ([]registry.Attachment, error) {
	return s.method.sign(ctx, s.with, c, nil)
}

// String describes the signer, without the key.
func (s *KeySigner) String() string { return "a signature by a private key" }

// GoString returns String: %#v would otherwise print every field.
func (s *KeySigner) GoString() string { return s.String() }

// sign requests a signature of a claim.
func (m *Method) sign(ctx context.Context, with Request, c Claim, s *services) ([]registry.Attachment, error) {
	with.Claim = c
	a, err := m.ask(ctx, with, s)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("signing %s: %w", c.Digest, context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	if err := c.made(a.Attached); err != nil {
		return nil, failure.Untrusted.Mark(fmt.Errorf("signing %s: %w: %w", c.Digest, errNoAnswer, err))
	}
	return a.Attached, nil
}

// GenerateKey returns a key pair that cosign v2 and v3 can read, in PEM. The private key is
// encrypted with the password, which may be empty. kind is one of Kinds, "" for the first.
func (m *Method) GenerateKey(kind string, password []byte) (private, public []byte, err error) {
	a, err := m.ask(context.Background(), Request{Op: OpGenerate, Kind: kind, Password: password}, nil)
	if err == nil && (len(a.Private) == 0 || len(a.Public) == 0) {
		err = failure.Untrusted.Mark(errNoAnswer)
	}
	return a.Private, a.Public, err
}

// KeylessOptions are the identity and the services for signing without a key. There are no
// defaults: only services that are given are used.
type KeylessOptions struct {
	Token     string // OIDC identity token (JWT) of the signer for sigstore
	FulcioURL string // base URL of the certificate authority, which gets the token: https, or http on this machine
	RekorURL  string // base URL of the transparency log (API version 1)
	TSAURL    string // URL of the timestamp authority (RFC 3161); "" for none
	// TrustedRoot is a sigstore trusted root (JSON) with which a new signature is verified before it
	// is returned. Nil for no such check.
	TrustedRoot []byte
	// Transport performs all requests to the services, with the caller's timeouts, proxies and
	// certificates. Redirects are not followed.
	Transport http.RoundTripper `json:"-"`
}

// keyless implements Signer.
type keyless struct {
	method *Method
	with   KeylessOptions
}

// NewKeyless returns a signer with a temporary key: a certificate says whose key it was, and the
// transparency log when it was used. Bundles are the only form. It makes no requests before Sign.
// Errors of Sign: *RefusedError if a service refuses, *registry.UnreachableError with the URL if
// one does not respond.
func (m *Method) NewKeyless(o KeylessOptions) (Signer, error) {
	if o.Transport == nil {
		return nil, errors.New("keyless signing: there is no transport for requests to the services")
	}
	if _, err := m.ask(context.Background(), Request{Op: OpKeyless, Keyless: &o}, nil); err != nil {
		return nil, err
	}
	return &keyless{m, o}, nil
}

// Sign implements Signer.
func (k *keyless) Sign(ctx context.Context, c Claim) ([]registry.Attachment, error) {
	s := &services{urls: []string{k.with.FulcioURL, k.with.RekorURL, k.with.TSAURL}, by: k.with.Transport}
	return k.method.sign(ctx, Request{Op: OpIdentity, Keyless: &k.with}, c, s)
}

// String is what it is, without the token.
func (k *keyless) String() string {
	return "a keyless signature attested by " + strings.TrimRight(k.with.FulcioURL, "/")
}

// GoString is the same: %#v would print every field.
func (k *keyless) GoString() string { return k.String() }
