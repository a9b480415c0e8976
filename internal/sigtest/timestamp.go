package sigtest

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/asn1"
	"net/http"
	"time"

	"github.com/digitorus/timestamp"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
)

// timestampAuthority answers as RFC 3161 specifies.
type timestampAuthority struct {
	root, intermediate, leaf *x509.Certificate
	key                      *ecdsa.PrivateKey
}

func newTimestampAuthority() (*timestampAuthority, error) {
	root, rootKey, err := ca.GenerateRootCa()
	if err != nil {
		return nil, err
	}
	intermediate, intermediateKey, err := ca.GenerateTSAIntermediate(root, rootKey)
	if err != nil {
		return nil, err
	}
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	leaf, err := ca.GenerateTSALeafCert(time.Now().Add(-time.Minute), key, intermediate, intermediateKey)
	return &timestampAuthority{root: root, intermediate: intermediate, leaf: leaf, key: key}, err
}

// answer returns a timestamp in DER, for the time of the request or for an earlier one.
func (a *timestampAuthority) answer(query []byte, b Behaviour) ([]byte, error) {
	asked, err := timestamp.ParseRequest(query)
	if err != nil {
		return nil, err
	}
	stamp := timestamp.Timestamp{
		HashAlgorithm: asked.HashAlgorithm, HashedMessage: asked.HashedMessage, Nonce: asked.Nonce,
		Time: time.Now().Add(-b.StampAge), Policy: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 2},
		AddTSACertificate: asked.Certificates, ExtraExtensions: asked.Extensions,
	}
	return stamp.CreateResponseWithOpts(a.leaf, a.key, crypto.SHA256)
}

func (s *Sigstore) timestamp(_ context.Context, w http.ResponseWriter, r *request) error {
	stamp, err := s.tsa.answer(r.body, s.behaviour())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/timestamp-reply")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(stamp) // a client that does not read the answer has gone
	return nil
}
