package sigtest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
)

// The files that Write writes.
const (
	TrustedRootFile   = "trusted_root.json"   // --trusted-root of krmcat and cosign v3
	SigningConfigFile = "signing_config.json" // --signing-config of cosign v3
	TokenFile         = "token"               // --identity-token
	FulcioRootFile    = "fulcio.pem"          // SIGSTORE_ROOT_FILE of cosign v2
	RekorKeyFile      = "rekor.pub"           // SIGSTORE_REKOR_PUBLIC_KEY of cosign v2
	CTKeyFile         = "ctfe.pub"            // SIGSTORE_CT_LOG_PUBLIC_KEY_FILE of cosign v2
	TSAChainFile      = "tsa.pem"             // SIGSTORE_TSA_CERTIFICATE_FILE of cosign v2
	FulcioURLFile     = "fulcio.url"
	RekorURLFile      = "rekor.url"
	TSAURLFile        = "tsa.url"
)

// TrustedRoot is the trusted_root.json of the sigstore.
func (s *Sigstore) TrustedRoot() []byte {
	s.t.Helper()
	begin, end := time.Now().Add(-authorityLife), time.Now().Add(authorityLife)
	tlog := func(url string, key *ecdsa.PrivateKey) map[string]*root.TransparencyLog {
		id, err := keyID(key.Public())
		if err != nil {
			s.t.Fatal(err)
		}
		return map[string]*root.TransparencyLog{hex.EncodeToString(id): {
			BaseURL: url, ID: id, ValidityPeriodStart: begin, ValidityPeriodEnd: end,
			HashFunc: crypto.SHA256, PublicKey: key.Public(), SignatureHashFunc: crypto.SHA256,
		}}
	}
	trusted, err := root.NewTrustedRoot(root.TrustedRootMediaType01,
		[]root.CertificateAuthority{&root.FulcioCertificateAuthority{
			Root: s.authority.root, Intermediates: []*x509.Certificate{s.authority.intermediate},
			ValidityPeriodStart: begin, ValidityPeriodEnd: end, URI: s.FulcioURL,
		}},
		tlog(s.FulcioURL, s.authority.ctKey),
		[]root.TimestampingAuthority{&root.SigstoreTimestampingAuthority{
			Root: s.tsa.root, Intermediates: []*x509.Certificate{s.tsa.intermediate}, Leaf: s.tsa.leaf,
			ValidityPeriodStart: begin, ValidityPeriodEnd: end, URI: s.TSAURL,
		}},
		tlog(s.RekorURL, s.log.key))
	if err != nil {
		s.t.Fatalf("making a trusted root: %v", err)
	}
	text, err := trusted.MarshalJSON()
	if err != nil {
		s.t.Fatalf("making a trusted root: %v", err)
	}
	return text
}

// SigningConfig is the signing_config.json of the sigstore.
func (s *Sigstore) SigningConfig() []byte {
	s.t.Helper()
	at := func(url string) []map[string]any {
		return []map[string]any{{
			"url": url, "majorApiVersion": 1, "operator": "sigtest",
			"validFor": map[string]any{"start": time.Now().Add(-authorityLife).UTC().Format(time.RFC3339)},
		}}
	}
	any1 := map[string]any{"selector": "ANY"}
	text, err := json.Marshal(map[string]any{
		"mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json",
		"caUrls":    at(s.FulcioURL), "rekorTlogUrls": at(s.RekorURL), "tsaUrls": at(s.TSAURL),
		"rekorTlogConfig": any1, "tsaConfig": any1,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// Write writes the files for signing as an identity and for verifying into an existing directory.
// The constants name the files.
func (s *Sigstore) Write(dir string, who Identity) {
	s.t.Helper()
	pemOf := func(key *ecdsa.PrivateKey) []byte {
		text, err := publicKeyPEM(key.Public())
		if err != nil {
			s.t.Fatal(err)
		}
		return text
	}
	for name, data := range map[string][]byte{
		TrustedRootFile: s.TrustedRoot(), SigningConfigFile: s.SigningConfig(),
		TokenFile: []byte(s.Token(who)), FulcioRootFile: s.authority.chainPEM(),
		RekorKeyFile: pemOf(s.log.key), CTKeyFile: pemOf(s.authority.ctKey),
		TSAChainFile:  bytes.Join([][]byte{certificatePEM(s.tsa.leaf.Raw), certificatePEM(s.tsa.intermediate.Raw), certificatePEM(s.tsa.root.Raw)}, nil),
		FulcioURLFile: []byte(s.FulcioURL), RekorURLFile: []byte(s.RekorURL), TSAURLFile: []byte(s.TSAURL),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			s.t.Fatalf("writing the files of the sigstore: %v", err)
		}
	}
}
