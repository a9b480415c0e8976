package judge

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	cosignbundle "github.com/sigstore/cosign/v2/pkg/cosign/bundle"
	sigverify "github.com/sigstore/sigstore-go/pkg/verify"
)

// The sources of the time of a signature.
const (
	fromLog       = "transparency log"
	fromAuthority = "timestamp authority"
	fromItself    = "signature itself" // not verified
)

// claimTime sets the time that a signature claims.
func claimTime(t time.Time, f *finding) {
	t = t.UTC()
	f.Time, f.TimeFrom = &t, fromItself
}

// readCertificate reads the certificate of an annotation, nil for none.
func readCertificate(text string) (*x509.Certificate, []byte, error) {
	if text == "" {
		return nil, nil, nil
	}
	if len(text) > maxCertificate {
		return nil, nil, fmt.Errorf("its certificate has %d bytes, at most %d are read", len(text), maxCertificate)
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, nil, errors.New("its certificate cannot be read")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, errors.New("its certificate cannot be read: " + clean(err.Error(), maxWords))
	}
	// Encode only this certificate, without surrounding text.
	return cert, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}), nil
}

// tellCertificate sets what a certificate claims.
func tellCertificate(cert *x509.Certificate, f *finding) {
	if cert == nil {
		return
	}
	if d, err := keyDigest(cert.PublicKey); err == nil {
		f.Key = d
	}
	if who, err := identityOf(cert); err == nil {
		f.Identity, f.Issuer = clean(who.SubjectAlternativeName, maxWords), clean(who.Issuer, maxWords)
	}
}

// readEntry reads a log entry with its inclusion promise. cosign accepts any JSON where it needs a
// string, and panics later.
func readEntry(text string) (*cosignbundle.RekorBundle, error) {
	var entry *struct {
		SignedEntryTimestamp []byte
		Payload              struct {
			Body           string `json:"body"`
			IntegratedTime int64  `json:"integratedTime"`
			LogIndex       int64  `json:"logIndex"`
			LogID          string `json:"logID"`
		}
	}
	if len(text) > maxSignature || json.Unmarshal([]byte(text), &entry) != nil || entry == nil {
		return nil, errors.New("its log entry cannot be read")
	}
	return &cosignbundle.RekorBundle{
		SignedEntryTimestamp: entry.SignedEntryTimestamp,
		Payload: cosignbundle.RekorPayload{
			Body: entry.Payload.Body, IntegratedTime: entry.Payload.IntegratedTime,
			LogIndex: entry.Payload.LogIndex, LogID: entry.Payload.LogID,
		},
	}, nil
}

// checkEntry checks that a log entry has all fields that cosign uses. cosign checks their values.
func checkEntry(b *cosignbundle.RekorBundle) error {
	text, ok := b.Payload.Body.(string)
	if !ok || b.Payload.IntegratedTime <= 0 || len(b.SignedEntryTimestamp) == 0 {
		return errors.New("its log entry is incomplete")
	}
	if _, err := hex.DecodeString(b.Payload.LogID); err != nil {
		return errors.New("its log entry has an invalid log ID")
	}
	body, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return errors.New("its log entry cannot be read")
	}
	var entry struct {
		Kind string `json:"kind"`
		Spec struct {
			Data struct {
				Hash *struct {
					Algorithm string `json:"algorithm"`
					Value     string `json:"value"`
				} `json:"hash"`
			} `json:"data"`
			Signature struct {
				Content   []byte `json:"content"`
				PublicKey struct {
					Content []byte `json:"content"`
				} `json:"publicKey"`
			} `json:"signature"`
		} `json:"spec"`
	}
	if json.Unmarshal(body, &entry) != nil {
		return errors.New("its log entry cannot be read")
	}
	key, rest := pem.Decode(entry.Spec.Signature.PublicKey.Content)
	switch {
	case entry.Kind != "hashedrekord" && entry.Kind != "rekord":
		return fmt.Errorf("its log entry is a %q, not of a signature", clean(entry.Kind, maxWords))
	case entry.Spec.Data.Hash == nil || len(entry.Spec.Signature.Content) == 0:
		return errors.New("its log entry is incomplete")
	case key == nil || len(strings.TrimSpace(string(rest))) > 0:
		return errors.New("its log entry does not name one key")
	}
	return nil
}

// stamped verifies the timestamp of a signature and returns its time, nil if there is no timestamp
// or no authority to verify it. cosign panics on an invalid one.
func (j *judge) stamped(s *simple) (*time.Time, error) {
	if s.stamp == nil || j.root == nil || len(j.root.TimestampingAuthorities()) == 0 {
		return nil, nil //nolint:nilnil // a missing time is not an error
	}
	e := &stampedSignature{stamp: s.stamp.SignedRFC3161Timestamp, sig: s.raw}
	t, err := sigverify.VerifySignedTimestampWithThreshold(e, j.root, 1)
	if err != nil || len(t) == 0 {
		return nil, errors.New("no authority of the trusted root made its timestamp")
	}
	when := t[0].Time.UTC()
	return &when, nil
}

// stampedSignature has the parts of a signature that sigstore-go needs to verify a timestamp.
type stampedSignature struct {
	sigverify.BaseSignedEntity
	stamp, sig []byte
}

// Timestamps implements sigverify.SignedEntity.
func (s *stampedSignature) Timestamps() ([][]byte, error) { return [][]byte{s.stamp}, nil }

// SignatureContent implements sigverify.SignedEntity.
func (s *stampedSignature) SignatureContent() (sigverify.SignatureContent, error) { return s, nil }

// Signature implements sigverify.SignatureContent.
func (s *stampedSignature) Signature() []byte { return s.sig }

// EnvelopeContent implements sigverify.SignatureContent.
func (s *stampedSignature) EnvelopeContent() sigverify.EnvelopeContent { return nil }

// MessageSignatureContent implements sigverify.SignatureContent.
func (s *stampedSignature) MessageSignatureContent() sigverify.MessageSignatureContent { return nil }

func stampText(t time.Time) string { return t.UTC().Format(time.RFC3339) }
