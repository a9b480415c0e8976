package sigtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"golang.org/x/crypto/cryptobyte"
)

const (
	// authorityLife is how long before and after the test the authorities are valid.
	authorityLife = 4 * time.Hour
	// certificateLife is how long a certificate is valid, as with Fulcio.
	certificateLife = 10 * time.Minute
	// firstDER is the number of the first extension that Fulcio encodes in DER. The extensions
	// before it are plain text.
	firstDER = 8
)

// authority issues certificates as Fulcio does.
type authority struct {
	root, intermediate *x509.Certificate
	key                *ecdsa.PrivateKey // of the intermediate certificate
	ctKey              *ecdsa.PrivateKey // of the certificate transparency log
}

func newAuthority() (*authority, error) {
	root, rootKey, err := ca.GenerateRootCa()
	if err != nil {
		return nil, err
	}
	a := &authority{root: root}
	if a.key, err = newKey(); err != nil {
		return nil, err
	}
	if a.ctKey, err = newKey(); err != nil {
		return nil, err
	}
	// This is not the intermediate of package ca: that one begins two minutes ago, and older
	// certificates need a valid chain too.
	now := time.Now()
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "sigstore-intermediate", Organization: []string{"sigstore.dev"}},
		NotBefore: now.Add(-authorityLife), NotAfter: now.Add(authorityLife),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}, root, &a.key.PublicKey, rootKey)
	if err != nil {
		return nil, err
	}
	a.intermediate, err = x509.ParseCertificate(der)
	return a, err
}

// chainPEM returns the chain of the certificates, the root last.
func (a *authority) chainPEM() []byte {
	return append(certificatePEM(a.intermediate.Raw), certificatePEM(a.root.Raw)...)
}

// issue makes a certificate in DER for an identity, an e-mail address or a URI, that an issuer
// attests.
func (a *authority) issue(who Identity, key crypto.PublicKey, b Behaviour) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	begin := time.Now().Add(-b.CertificateAge)
	utf8, err := asn1.MarshalWithParams(who.Issuer, "utf8")
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, NotBefore: begin, NotAfter: begin.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		// The issuer in the two encodings, as an older and as a newer extension.
		ExtraExtensions: []pkix.Extension{
			{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}, Value: []byte(who.Issuer)},
			{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}, Value: utf8},
		},
	}
	for _, arc := range slices.Sorted(maps.Keys(b.Extensions)) {
		value := []byte(b.Extensions[arc])
		if arc >= firstDER {
			if value, err = asn1.MarshalWithParams(b.Extensions[arc], "utf8"); err != nil {
				return nil, err
			}
		}
		template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, arc}, Value: value})
	}
	if who.email() {
		template.EmailAddresses = []string{who.Subject}
	} else {
		u, err := url.Parse(who.Subject)
		if err != nil {
			return nil, err
		}
		template.URIs = []*url.URL{u}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.intermediate, key, a.key)
	if err != nil || b.WithoutSCT {
		return der, err
	}
	// The log signs the certificate without the extension that holds the promise, which is added
	// last.
	promise, err := a.promise(der, begin)
	if err != nil {
		return nil, err
	}
	template.ExtraExtensions = append(slices.Clone(template.ExtraExtensions), promise)
	return x509.CreateCertificate(rand.Reader, template, a.intermediate, key, a.key)
}

// promise returns the extension with one signed certificate timestamp: RFC 6962, sections 3.2 and
// 3.3.
func (a *authority) promise(der []byte, at time.Time) (pkix.Extension, error) {
	var none pkix.Extension
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return none, err
	}
	id, err := keyID(a.ctKey.Public())
	if err != nil {
		return none, err
	}
	issuer := sha256.Sum256(a.intermediate.RawSubjectPublicKeyInfo)
	var signed cryptobyte.Builder
	signed.AddBytes([]byte{0, 0}) // version 1, certificate_timestamp
	signed.AddUint64(uint64(at.UnixMilli()))
	signed.AddBytes([]byte{0, 1}) // precert_entry
	signed.AddBytes(issuer[:])
	signed.AddUint24LengthPrefixed(bytesOf(cert.RawTBSCertificate))
	signed.AddUint16(0) // no extensions
	text, err := signed.Bytes()
	if err != nil {
		return none, err
	}
	hash := sha256.Sum256(text)
	signature, err := ecdsa.SignASN1(rand.Reader, a.ctKey, hash[:])
	if err != nil {
		return none, err
	}

	var list cryptobyte.Builder
	list.AddUint16LengthPrefixed(func(list *cryptobyte.Builder) {
		list.AddUint16LengthPrefixed(func(sct *cryptobyte.Builder) {
			sct.AddUint8(0) // version 1
			sct.AddBytes(id)
			sct.AddUint64(uint64(at.UnixMilli()))
			sct.AddUint16(0)           // no extensions
			sct.AddBytes([]byte{4, 3}) // SHA-256, ECDSA
			sct.AddUint16LengthPrefixed(bytesOf(signature))
		})
	})
	if text, err = list.Bytes(); err != nil {
		return none, err
	}
	value, err := asn1.Marshal(text)
	return pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: value}, err
}

func bytesOf(b []byte) cryptobyte.BuilderContinuation {
	return func(c *cryptobyte.Builder) { c.AddBytes(b) }
}

// keyID returns the id of a log: the SHA-256 of its public key.
func keyID(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	hash := sha256.Sum256(der)
	return hash[:], err
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func publicKeyPEM(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), err
}

// Identity is the identity of a signer, and the issuer that attests it.
type Identity struct {
	Subject string // an e-mail address or a URI
	Issuer  string // URL, the issuer of the token
}

func (i Identity) email() bool {
	return strings.Contains(i.Subject, "@") && !strings.Contains(i.Subject, "://")
}
