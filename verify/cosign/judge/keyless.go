package judge

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/rekor/pkg/generated/client/entries"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore/pkg/oauthflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify"
)

// maxToken is the maximum length of an identity token, in bytes.
const maxToken = 64 << 10

// keyless implements Signer.
type keyless struct {
	o                  KeylessOptions
	fulcio, rekor, tsa service
	secrets            []string // must not be in errors
	checked            *judge   // for the trusted root, nil for none
}

// newKeyless returns a signer: see cosign.Method.NewKeyless.
func newKeyless(o KeylessOptions) (Signer, error) {
	k := &keyless{o: o}
	k.o.Token = strings.TrimSpace(o.Token)
	if err := checkToken(k.o.Token); err != nil {
		return nil, err
	}
	for _, part := range append(strings.Split(k.o.Token, "."), k.o.Token) {
		if len(part) >= 16 {
			k.secrets = append([]string{part}, k.secrets...) // the whole token first
		}
	}
	var err error
	if k.fulcio, err = newService("certificate authority", o.FulcioURL); err != nil {
		return nil, err
	}
	if !k.fulcio.private() {
		return nil, failure.NotPermitted.Mark(fmt.Errorf("certificate authority %s: http would expose the identity token to others: use https", k.fulcio.url))
	}
	if k.rekor, err = newService("transparency log", o.RekorURL); err != nil {
		return nil, err
	}
	if o.TSAURL != "" {
		if k.tsa, err = newService("timestamp authority", o.TSAURL); err != nil {
			return nil, err
		}
	}
	if o.TrustedRoot != nil {
		if k.checked, err = anybody(o.TrustedRoot); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// String describes the signer, without the token.
func (k *keyless) String() string { return "a keyless signature attested by " + k.fulcio.url }

// GoString returns String: %#v would otherwise print every field.
func (k *keyless) GoString() string { return k.String() }

// checkToken refuses invalid tokens, without quoting them.
func checkToken(token string) error {
	parts := strings.Split(token, ".")
	switch {
	case token == "":
		return errors.New("keyless signing: there is no identity token")
	case len(token) > maxToken:
		return failure.Untrusted.Mark(fmt.Errorf("the identity token has %d bytes, at most %d are allowed", len(token), maxToken))
	case len(parts) != 3:
		return errors.New("the identity token is not a JWT")
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return errors.New("the identity token is not a JWT")
	}
	// The JSON error would quote characters of the token, so it is not shown.
	if !json.Valid(claims) {
		return errors.New("the identity token is not a JWT")
	}
	if _, err := oauthflow.SubjectFromUnverifiedToken(claims); err != nil {
		return errors.New("the identity token has no subject, or an e-mail address that the issuer did not verify")
	}
	return nil
}

// anybody returns a judge that accepts every signer. A private authority may have no certificate
// transparency log: it is not required if the root has none.
func anybody(trusted []byte) (*judge, error) {
	d := Demand{Identities: []Identity{{SubjectRegExp: ".*", IssuerRegExp: ".*"}}, TrustedRoot: trusted}
	if r, err := parseRoot(trusted); err == nil {
		d.InsecureIgnoreSCT = len(r.CTLogs()) == 0
	}
	return build(d)
}

// Sign implements Signer.
func (k *keyless) Sign(ctx context.Context, what Claim) ([]registry.Attachment, error) {
	c := claim{what}
	if err := c.check(); err != nil {
		return nil, err
	}
	st, err := c.statement()
	if err != nil {
		return nil, err
	}
	made, err := k.bundle(ctx, st)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("signing %s: %w", c.Digest, context.Cause(ctx))
	case err != nil:
		return nil, k.explain(err)
	}
	data, err := protojson.Marshal(made)
	if err != nil {
		return nil, fmt.Errorf("writing the bundle: %w", err)
	}
	var compact bytes.Buffer // protojson inserts blanks at random
	if err := json.Compact(&compact, data); err != nil {
		return nil, fmt.Errorf("writing the bundle: %w", err)
	}
	out := []registry.Attachment{bundleAttachment(compact.Bytes())}
	if err := k.prove(ctx, c, out); err != nil {
		return nil, err
	}
	return out, nil
}

// bundle requests everything for a signature of a statement from the services. A panic of a library
// on a response is an error.
func (k *keyless) bundle(ctx context.Context, st []byte) (made *protobundle.Bundle, err error) {
	defer func() {
		if r := recover(); r != nil {
			made, err = nil, errors.New("a service sent a malformed response")
		}
	}()
	key, err := sign.NewEphemeralKeypair(nil)
	if err != nil {
		return nil, err
	}
	return sign.Bundle(&sign.DSSEData{Data: st, PayloadType: statementType}, key, k.services(ctx))
}

// prove verifies a new signature with the trusted root.
func (k *keyless) prove(ctx context.Context, c claim, made []registry.Attachment) error {
	if k.checked == nil {
		return nil
	}
	v, err := k.checked.Judge(ctx, c.Digest, made)
	if err != nil {
		return err
	}
	if len(v.Reasons) > 0 {
		return failure.Untrusted.Mark(fmt.Errorf("the new signature of %s does not hold against the trusted root: %s", c.Digest, strings.Join(verify.Texts(v.Reasons), "; ")))
	}
	return nil
}

// services returns the services for sigstore-go. All requests use the transport and ctx.
func (k *keyless) services(ctx context.Context) sign.BundleOptions {
	// A negative timeout means none. Responses for which sigstore-go would repeat a request are
	// errors of the transport, after which it does not.
	const none = -1
	o := sign.BundleOptions{
		Context: ctx,
		CertificateProvider: sign.NewFulcio(&sign.FulcioOptions{
			BaseURL: k.fulcio.url, Timeout: none, Transport: k.by(ctx, k.fulcio),
		}),
		CertificateProviderOptions: &sign.CertificateProviderOptions{IDToken: k.o.Token},
		TransparencyLogs: []sign.Transparency{sign.NewRekor(&sign.RekorOptions{
			BaseURL: k.rekor.url, Timeout: none, Client: &logClient{url: k.rekor.url, by: k.by(ctx, k.rekor)},
		})},
	}
	if k.tsa.url != "" {
		o.TimestampAuthorities = []*sign.TimestampAuthority{sign.NewTimestampAuthority(&sign.TimestampAuthorityOptions{
			URL: k.tsa.url, Timeout: none, Transport: k.by(ctx, k.tsa),
		})}
	}
	return o
}

// explain returns the error of this package in a sigstore-go error, or sanitises the text.
func (k *keyless) explain(err error) error {
	var refused *RefusedError
	var unreachable *registry.UnreachableError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &unreachable):
		return unreachable
	}
	return errors.New("keyless signing: " + k.clean(err.Error()))
}

// clean converts the message of a service to one line without the token.
func (k *keyless) clean(s string) string {
	for _, secret := range k.secrets {
		s = strings.ReplaceAll(s, secret, "(token)")
	}
	return clean(s, maxReason)
}

// logClient is a client of a transparency log. Rekor's own client has a transport that reads the
// environment.
type logClient struct {
	url string
	by  http.RoundTripper
}

// CreateLogEntry implements sign.RekorClient.
func (l *logClient) CreateLogEntry(params *entries.CreateLogEntryParams, _ ...entries.ClientOption) (*entries.CreateLogEntryCreated, error) {
	proposed, err := json.Marshal(params.ProposedEntry)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(params.Context, http.MethodPost, l.url+"/api/v1/log/entries", bytes.NewReader(proposed))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := l.by.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer models.LogEntry
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer) != 1 {
		return nil, errors.New("the transparency log did not return an entry")
	}
	for name, e := range answer {
		if !complete(e) {
			return nil, errors.New("the transparency log returned an incomplete entry")
		}
		return &entries.CreateLogEntryCreated{ETag: name, Payload: answer}, nil
	}
	return nil, errors.New("the transparency log did not return an entry")
}

// complete reports whether an entry has all fields that sigstore-go uses.
func complete(e models.LogEntryAnon) bool {
	if e.LogID == nil || e.LogIndex == nil || e.IntegratedTime == nil || e.Verification == nil {
		return false
	}
	p := e.Verification.InclusionProof
	return p != nil && p.RootHash != nil && p.LogIndex != nil && p.TreeSize != nil && p.Checkpoint != nil
}
