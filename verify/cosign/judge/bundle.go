package judge

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	sigverify "github.com/sigstore/sigstore-go/pkg/verify"
	"google.golang.org/protobuf/encoding/protojson"
)

// Types in bundles.
const (
	statementType = "application/vnd.in-toto+json"
	statementV1   = "https://in-toto.io/Statement/v1" // _type of a statement; v0.1 is accepted too
	statementV01  = "https://in-toto.io/Statement/v0.1"
)

// signed is a parsed bundle.
type signed struct {
	proto   *protobundle.Bundle
	message []byte // the signed message
	sig     []byte
	// claimed are the annotations of the artifact's subject.
	claimed map[string]any
	cert    *x509.Certificate // nil for none
}

// bundle checks a bundle, and returns its signer or why it is invalid.
func (j *judge) bundle(_ context.Context, subject digest.Digest, p piece, f *finding) (fmt.Stringer, error) {
	s, err := readBundle(p)
	if err != nil {
		return nil, err
	}
	s.tell(f)
	if err := s.readStatement(subject, f); err != nil {
		return nil, err
	}
	if err := j.counts(FormBundle); err != nil {
		return nil, err
	}
	by := j.byKey
	if s.cert != nil {
		by = j.byCertificate
	}
	who, err := by(subject, s, f)
	if err == nil {
		f.Annotations = whole(s.claimed)
	}
	return who, err
}

// byKey checks a bundle without a certificate.
func (j *judge) byKey(subject digest.Digest, s *signed, f *finding) (fmt.Stringer, error) {
	k := j.key(s.sig, s.message)
	if k == nil {
		claim := ""
		if h := s.proto.GetVerificationMaterial().GetPublicKey().GetHint(); f.Key != "" {
			claim = " (claims key " + short(f.Key) + ")"
		} else if h != "" {
			claim = " (hint " + clean(h, maxWords) + ")"
		}
		return nil, j.noKey(claim)
	}
	f.by(k)
	e, err := j.entity(s)
	if err != nil {
		return nil, err
	}
	m := material{TrustedMaterial: &root.BaseTrustedMaterial{}, key: root.NewExpiringKey(k.verifier, time.Time{}, time.Time{})}
	if j.root != nil {
		m.TrustedMaterial = j.root
	}
	opts := []sigverify.VerifierOption{sigverify.WithNoObserverTimestamps()}
	if !j.demand.InsecureIgnoreTlog {
		opts = append(opts, sigverify.WithTransparencyLog(1))
	}
	if _, err := check(subject, e, m, opts, sigverify.WithKey()); err != nil {
		return nil, plain(err)
	}
	f.Logged, f.Time, f.TimeFrom = !j.demand.InsecureIgnoreTlog, nil, ""
	j.keyTime(e, m, f)
	return k, nil
}

// keyTime sets when a key signed, for information only.
func (j *judge) keyTime(e *entity, m material, f *finding) {
	if f.Logged {
		if t, err := sigverify.VerifyTlogEntry(e, m, 1, true); err == nil && len(t) > 0 {
			when := t[0].Time.UTC()
			f.Time, f.TimeFrom = &when, fromLog
			return
		}
	}
	if t, err := sigverify.VerifySignedTimestampWithThreshold(e, m, 1); err == nil && len(t) > 0 {
		when := t[0].Time.UTC()
		f.Time, f.TimeFrom = &when, fromAuthority
	}
}

// byCertificate checks a bundle with a certificate.
func (j *judge) byCertificate(subject digest.Digest, s *signed, f *finding) (fmt.Stringer, error) {
	who, err := identityOf(s.cert)
	if err != nil {
		return nil, err
	}
	id, err := j.identity(who)
	if err != nil {
		return nil, err
	}
	e, err := j.entity(s)
	if err != nil {
		return nil, err
	}
	var opts []sigverify.VerifierOption
	if !j.demand.InsecureIgnoreTlog {
		opts = append(opts, sigverify.WithTransparencyLog(1))
	}
	if !j.demand.InsecureIgnoreSCT {
		opts = append(opts, sigverify.WithSignedCertificateTimestamps(1))
	}
	whoever := sigverify.WithCertificateIdentity(id.match)
	r, err := check(subject, e, j.root, append(opts, sigverify.WithObserverTimestamps(1)), whoever)
	if err != nil && j.demand.InsecureIgnoreTimestamp {
		r, err = check(subject, e, j.root, append(opts, sigverify.WithCurrentTime()), whoever)
	}
	if err != nil {
		if f.Time != nil {
			return nil, plainTime(err, s.cert, *f.Time, j.root)
		}
		return nil, plain(err)
	}
	f.Signer, f.Logged, f.Time, f.TimeFrom = f.Identity, !j.demand.InsecureIgnoreTlog, nil, ""
	for _, t := range r.VerifiedTimestamps {
		if from := map[string]string{"Tlog": fromLog, "TimestampAuthority": fromAuthority}[t.Type]; from != "" && f.Time == nil {
			when := t.Timestamp.UTC()
			f.Time, f.TimeFrom = &when, from
		}
	}
	return id, j.recent(s.cert, f)
}

// check verifies an entity with sigstore-go.
func check(subject digest.Digest, e *entity, m root.TrustedMaterial, opts []sigverify.VerifierOption, by sigverify.PolicyOption) (*sigverify.VerificationResult, error) {
	v, err := sigverify.NewVerifier(m, opts...)
	if err != nil {
		return nil, err
	}
	raw, err := hex.DecodeString(subject.Encoded())
	if err != nil {
		return nil, err
	}
	return v.Verify(e, sigverify.NewPolicy(sigverify.WithArtifactDigest(subject.Algorithm().String(), raw), by))
}

// entity converts a bundle for sigstore-go. If a log is required, it refuses a bundle without a log
// entry, with an entry that has no inclusion proof, or with one of a log outside its validity.
// sigstore-go requires only one of several entries to have a proof, and none for bundles of version
// 0.1: but the version is not signed, and no artifact has signatures of that version.
func (j *judge) entity(s *signed) (*entity, error) {
	if err := j.annotated(s.claimed); err != nil {
		if len(s.claimed) == 0 {
			err = fmt.Errorf("%w: it carries no annotations (cosign v2 writes none into a bundle, whatever -a says)", err)
		}
		return nil, err
	}
	b, err := bundle.NewBundle(s.proto)
	if err != nil {
		return nil, plain(err)
	}
	entries := s.proto.GetVerificationMaterial().GetTlogEntries()
	switch {
	case j.demand.InsecureIgnoreTlog:
		return &entity{b}, nil
	case len(entries) == 0:
		return nil, errors.New("no transparency log entry")
	}
	for _, e := range entries {
		if e.GetInclusionProof() == nil {
			return nil, errors.New("the log entry has no inclusion proof")
		}
	}
	return &entity{b}, j.logsCover(&entity{b}, entries)
}

// entity is a bundle for sigstore-go without a version. With a version, sigstore-go also tries
// signatures of old clients with P-384, and prints that.
type entity struct{ *bundle.Bundle }

// Version implements sigverify.SignedEntity.
func (*entity) Version() (string, error) { return "", nil }

// material is a trusted root with one key, whatever the bundle calls it.
type material struct {
	root.TrustedMaterial
	key root.TimeConstrainedVerifier
}

// PublicKeyVerifier implements root.TrustedMaterial.
func (m material) PublicKeyVerifier(string) (root.TimeConstrainedVerifier, error) { return m.key, nil }

// readBundle parses a layer as far as its claims need.
func readBundle(p piece) (*signed, error) {
	switch {
	case !strings.HasPrefix(p.file.MediaType, bundleType) || !strings.Contains(p.file.MediaType, "json"):
		return nil, fmt.Errorf("its media type is %q, not that of a bundle", clean(p.file.MediaType, maxWords))
	case len(p.file.Data) > maxSignature:
		return nil, fmt.Errorf("it has %d bytes, a bundle has at most %d", len(p.file.Data), maxSignature)
	}
	s := &signed{proto: &protobundle.Bundle{}}
	if err := protojson.Unmarshal(p.file.Data, s.proto); err != nil {
		return nil, errors.New("the bundle cannot be read: " + clean(err.Error(), maxWords))
	}
	m := s.proto.GetVerificationMaterial()
	der := m.GetCertificate().GetRawBytes()
	if chain := m.GetX509CertificateChain().GetCertificates(); len(chain) > 0 {
		der = chain[0].GetRawBytes()
	}
	if len(der) == 0 {
		return s, nil
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, errors.New("its certificate cannot be read: " + clean(err.Error(), maxWords))
	}
	s.cert = cert
	return s, nil
}

// tell sets what the bundle claims about its signer.
func (s *signed) tell(f *finding) {
	tellCertificate(s.cert, f)
	hint := s.proto.GetVerificationMaterial().GetPublicKey().GetHint()
	if raw, err := base64.StdEncoding.DecodeString(hint); err == nil && len(raw) == 32 {
		f.Key = "sha256:" + hex.EncodeToString(raw)
	}
	for _, e := range s.proto.GetVerificationMaterial().GetTlogEntries() {
		if e.GetIntegratedTime() > 0 {
			claimTime(time.Unix(e.GetIntegratedTime(), 0), f)
		}
	}
}

// checkType checks that a payload is a statement. sigstore-go does not check the type, and also
// accepts another name of the field.
func checkType(payload []byte) error {
	var st struct {
		Type string `json:"_type"`
	}
	if err := json.Unmarshal(payload, &st); err != nil {
		return errors.New("what it signs cannot be read")
	}
	if st.Type != statementV1 && st.Type != statementV01 {
		return fmt.Errorf("it signs a statement of _type %q, want %s", clean(st.Type, maxWords), statementV1)
	}
	return nil
}

// readStatement parses the signed statement, and refuses everything but signatures of the artifact.
func (s *signed) readStatement(subject digest.Digest, f *finding) error {
	env := s.proto.GetDsseEnvelope()
	if env == nil && s.proto.GetMessageSignature() == nil {
		return errors.New("it has no signature")
	}
	if env == nil {
		return errors.New("it signs a file by its content, not an artifact: cosign signs artifacts by a statement (DSSE)")
	}
	if env.GetPayloadType() != statementType {
		return fmt.Errorf("it signs a %q, not a statement", clean(env.GetPayloadType(), maxWords))
	}
	if len(env.GetSignatures()) != 1 {
		return errors.New("it does not have exactly one signature")
	}
	s.message, s.sig = dsse.PAE(env.GetPayloadType(), env.GetPayload()), env.GetSignatures()[0].GetSig()
	parsed := &bundle.Envelope{Envelope: &dsse.Envelope{
		PayloadType: env.GetPayloadType(), Payload: base64.StdEncoding.EncodeToString(env.GetPayload()),
	}}
	st, err := parsed.Statement()
	if err != nil {
		return errors.New("what it signs cannot be read")
	}
	if err := checkType(env.GetPayload()); err != nil {
		return err
	}
	ours := false
	for _, sub := range st.GetSubject() {
		d := digest.NewDigestFromEncoded(digest.SHA256, sub.GetDigest()[digest.SHA256.String()])
		same := d == subject
		if d.Validate() == nil && (same || f.Subject == "") && !ours {
			f.Subject = d
		}
		if same && !ours {
			ours, s.claimed = true, sub.GetAnnotations().AsMap()
			f.Annotations = shown(s.claimed)
		}
	}
	switch {
	case st.GetPredicateType() != predicateType:
		return fmt.Errorf("it is an attestation (predicate %q), not a signature", clean(st.GetPredicateType(), maxWords))
	case !ours:
		return another(f.Subject)
	}
	return nil
}
