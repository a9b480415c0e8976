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

// LoadSigner reads a private key as cosign writes it: PEM, encrypted. It signs in the forms
// given, in order; none is a bundle. A wrong password is ErrPassword, a private key that is
// kept otherwise a *KeyTypeError.
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

// PublicKey is what signatures are verified by: PEM, a PUBLIC KEY.
func (s *KeySigner) PublicKey() []byte { return bytes.Clone(s.public) }

// Sign implements Signer.
func (s *KeySigner) Sign(ctx context.Context, c Claim) ([]registry.Attachment, error) {
	return s.method.sign(ctx, s.with, c, nil)
}

// String is what it is, without the key.
func (s *KeySigner) String() string { return "a signature by a private key" }

// GoString is the same: %#v would print every field.
func (s *KeySigner) GoString() string { return s.String() }

// sign asks for a signature of a claim.
func (m *Method) sign(ctx context.Context, with Request, c Claim, s *services) ([]registry.Attachment, error) {
	with.Claim = c
	a, err := m.ask(ctx, with, s)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("signing %s: %w", c.Digest, context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	if len(a.Attached) == 0 {
		return nil, failure.Untrusted.Mark(errNoAnswer)
	}
	return a.Attached, nil
}

// GenerateKey makes a pair of keys as cosign v2 and v3 read them, in PEM; the private one is
// encrypted with the password, which may be empty. kind is one of Kinds, empty for the first.
func (m *Method) GenerateKey(kind string, password []byte) (private, public []byte, err error) {
	a, err := m.ask(context.Background(), Request{Op: OpGenerate, Kind: kind, Password: password}, nil)
	if err == nil && (len(a.Private) == 0 || len(a.Public) == 0) {
		err = failure.Untrusted.Mark(errNoAnswer)
	}
	return a.Private, a.Public, err
}

// KeylessOptions say as whom to sign without a key, and who attests it. There are no
// defaults: nobody is asked who is not named.
type KeylessOptions struct {
	Token     string // an OIDC identity token (JWT) for sigstore, of whoever signs
	FulcioURL string // base of the certificate authority, which gets the token: https, or http on this machine
	RekorURL  string // base of the transparency log, version 1 of its interface
	TSAURL    string // of the timestamp authority (RFC 3161), whole; empty for none
	// TrustedRoot is a sigstore trusted root (JSON) that the signature has to hold against
	// before it is given out. Nil for no such check.
	TrustedRoot []byte
	// Transport does all that is asked of the services, with the caller's limits of time,
	// proxies and certificates. No redirect is followed.
	Transport http.RoundTripper `json:"-"`
}

// keyless implements Signer.
type keyless struct {
	method *Method
	with   KeylessOptions
}

// NewKeyless makes a signer with a key that is thrown away: a certificate says whose it was,
// and the transparency log when. Bundles are the only form. Nothing is asked before Sign,
// whose errors are *RefusedError where a service says no, and *registry.UnreachableError,
// with its URL, where one does not answer.
func (m *Method) NewKeyless(o KeylessOptions) (Signer, error) {
	if o.Transport == nil {
		return nil, errors.New("keyless signing: there is no transport to ask the services by")
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
