package judge

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"
	"github.com/sigstore/cosign/v2/pkg/cosign"
	cosignbundle "github.com/sigstore/cosign/v2/pkg/cosign/bundle"
	"github.com/sigstore/cosign/v2/pkg/oci/static"
	"github.com/sigstore/sigstore/pkg/signature/payload"
)

// Types of the legacy form.
const (
	legacyType          = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = static.SignatureAnnotationKey
)

// simple is a parsed signature of the legacy form.
type simple struct {
	payload []byte
	base64  string
	raw     []byte // the signature
	claim   payload.SimpleContainerImage
	cert    *x509.Certificate // nil for none
	certPEM []byte
	entry   *cosignbundle.RekorBundle      // nil for none
	stamp   *cosignbundle.RFC3161Timestamp // nil for none
}

// legacy checks a signature of the legacy form, and returns its signer or why it is invalid.
func (j *judge) legacy(ctx context.Context, subject digest.Digest, p piece, f *finding) (fmt.Stringer, error) {
	s, err := readSimple(p)
	if s != nil {
		s.tell(f)
	}
	switch {
	case err != nil:
		return nil, err
	case s.claim.Critical.Image.DockerManifestDigest != subject.String():
		return nil, another(f.Subject)
	case s.claim.Critical.Type != payload.CosignSignatureType:
		return nil, fmt.Errorf("it is a %q, not a signature", clean(s.claim.Critical.Type, maxWords))
	}
	if err := j.counts(FormLegacy); err != nil {
		return nil, err
	}
	opts := j.checkOpts()
	who, err := j.legacySigner(s, opts, f)
	if err != nil {
		return nil, err
	}
	if err := j.checkSimple(ctx, subject, s, opts, f); err != nil {
		return nil, err
	}
	if opts.SigVerifier == nil {
		if err := j.recent(s.cert, f); err != nil {
			return nil, err
		}
		f.Signer = f.Identity
	}
	f.Annotations = whole(s.claim.Optional)
	return who, nil
}

// checkOpts returns cosign's options for every signature.
func (j *judge) checkOpts() *cosign.CheckOpts {
	opts := &cosign.CheckOpts{
		// Without it cosign does not compare the digest.
		ClaimVerifier: cosign.SimpleClaimVerifier,
		Annotations:   map[string]any{},
		Offline:       true,
		IgnoreTlog:    j.demand.InsecureIgnoreTlog,
		IgnoreSCT:     j.demand.InsecureIgnoreSCT,
	}
	for k, v := range j.demand.Annotations {
		opts.Annotations[k] = v
	}
	if j.root != nil {
		opts.TrustedMaterial = j.root
	}
	return opts
}

// legacySigner finds the possible signer, and sets the options to verify it.
func (j *judge) legacySigner(s *simple, opts *cosign.CheckOpts, f *finding) (fmt.Stringer, error) {
	if k := j.key(s.raw, s.payload); k != nil {
		f.by(k)
		opts.SigVerifier = k.verifier
		if opts.IgnoreTlog {
			// The certificate is not used with a key, except that the log entry names it.
			s.cert, s.certPEM = nil, nil
		}
		if t, err := j.stamped(s); err == nil && t != nil {
			f.Time, f.TimeFrom = t, fromAuthority
		}
		return k, nil
	}
	if s.cert == nil {
		return nil, j.noKey("")
	}
	who, err := identityOf(s.cert)
	if err != nil {
		return nil, err
	}
	id, err := j.identity(who)
	if err != nil {
		return nil, err
	}
	opts.Identities = []cosign.Identity{id.forCosign()}
	t, err := j.stamped(s)
	switch {
	case err != nil:
		return nil, err
	case t != nil:
		f.Time, f.TimeFrom, opts.UseSignedTimestamps = t, fromAuthority, true
	case opts.IgnoreTlog && !j.demand.InsecureIgnoreTimestamp:
		// cosign would take the current time.
		return nil, errors.New("no trusted source attests when it was made")
	}
	return id, nil
}

// checkSimple verifies the signature with cosign.
func (j *judge) checkSimple(ctx context.Context, subject digest.Digest, s *simple, opts *cosign.CheckOpts, f *finding) error {
	if err := j.annotated(s.claim.Optional); err != nil {
		return err
	}
	if s.entry == nil && !opts.IgnoreTlog {
		return errors.New("no transparency log entry")
	}
	if s.entry != nil && !opts.IgnoreTlog {
		if err := checkEntry(s.entry); err != nil {
			return err
		}
		// cosign checks this too, but its error is hard to understand.
		if err := j.logCovers(strings.ToLower(s.entry.Payload.LogID), time.Unix(s.entry.Payload.IntegratedTime, 0)); err != nil {
			return err
		}
	}
	sig, err := static.NewSignature(s.payload, s.base64, s.options()...)
	if err != nil {
		return plain(err)
	}
	hash := v1.Hash{Algorithm: subject.Algorithm().String(), Hex: subject.Encoded()}
	logged, err := cosign.VerifyImageSignature(ctx, sig, hash, opts)
	if err != nil {
		if s.cert != nil && f.Time != nil {
			return plainTime(err, s.cert, *f.Time, j.root)
		}
		return plain(err)
	}
	if f.Logged = logged; logged {
		t := time.Unix(s.entry.Payload.IntegratedTime, 0).UTC()
		f.Time, f.TimeFrom = &t, fromLog
	}
	return nil
}

func (s *simple) options() []static.Option {
	out := []static.Option{static.WithBundle(s.entry), static.WithRFC3161Timestamp(s.stamp)}
	if s.certPEM != nil {
		// The chain is omitted: the trusted root has the necessary certificates.
		out = append(out, static.WithCertChain(s.certPEM, nil))
	}
	return out
}

// tell sets what the signature claims.
func (s *simple) tell(f *finding) {
	if d := digest.Digest(s.claim.Critical.Image.DockerManifestDigest); d.Validate() == nil {
		f.Subject = d
	}
	f.Annotations = shown(s.claim.Optional)
	tellCertificate(s.cert, f)
	if s.entry != nil && s.entry.Payload.IntegratedTime > 0 {
		claimTime(time.Unix(s.entry.Payload.IntegratedTime, 0), f)
	}
}

// readSimple parses a layer. With an error, it returns what could be parsed.
func readSimple(p piece) (*simple, error) {
	a := p.file.Annotations
	switch {
	case p.file.MediaType != legacyType:
		return nil, fmt.Errorf("its media type is %q, not that of a signature", clean(p.file.MediaType, maxWords))
	case len(p.file.Data) > maxSignature:
		return nil, fmt.Errorf("it has %d bytes, a signature has at most %d", len(p.file.Data), maxSignature)
	}
	s := &simple{payload: p.file.Data, base64: a[signatureAnnotation]}
	if err := json.Unmarshal(s.payload, &s.claim); err != nil {
		return nil, errors.New("what it signs cannot be read: " + clean(err.Error(), maxWords))
	}
	if s.base64 == "" {
		return s, errors.New("it has no signature")
	}
	var err error
	if s.raw, err = base64.StdEncoding.DecodeString(s.base64); err != nil {
		return s, errors.New("its signature is not in base64")
	}
	if s.cert, s.certPEM, err = readCertificate(a[static.CertificateAnnotationKey]); err != nil {
		return s, err
	}
	if e := a[static.BundleAnnotationKey]; e != "" {
		if s.entry, err = readEntry(e); err != nil {
			return s, err
		}
	}
	if t := a[static.RFC3161TimestampAnnotationKey]; t != "" {
		s.stamp = &cosignbundle.RFC3161Timestamp{}
		if err := json.Unmarshal([]byte(t), s.stamp); err != nil || len(s.stamp.SignedRFC3161Timestamp) == 0 {
			return s, errors.New("its timestamp cannot be read")
		}
	}
	return s, nil
}
