package cosign_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/krmcat/krmcat/internal/sigtest"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify/cosign"
)

const (
	issuer   = "https://issuer.example.com"
	ofIssuer = " of " + issuer
)

func alice() sigtest.Identity {
	return sigtest.Identity{Subject: "alice@example.com", Issuer: issuer}
}

// byIdentity returns a demand for one identity.
func byIdentity(s *sigtest.Sigstore, ids ...cosign.Identity) cosign.Demand {
	if len(ids) == 0 {
		ids = []cosign.Identity{{Subject: alice().Subject, Issuer: issuer}}
	}
	return cosign.Demand{Identities: ids, TrustedRoot: s.TrustedRoot()}
}

// TestIdentities judges signatures of honest and dishonest sigstore instances, in both forms.
func TestIdentities(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	expired := sigtest.Behaviour{CertificateAge: 60 * minute}
	for name, tc := range map[string]struct {
		does           sigtest.Behaviour
		stamped        bool
		demand         func(*cosign.Demand)
		bundle, legacy string // part of the reason; "" for accepted
		from           string // the source of the time
	}{
		"right":            {from: "transparency log"},
		"with a timestamp": {stamped: true, from: "transparency log"},
		"long ago":         {does: sigtest.Behaviour{CertificateAge: 60 * minute, LogAge: 55 * minute}, from: "transparency log"},
		"expressions": {
			demand: func(d *cosign.Demand) {
				d.Identities = []cosign.Identity{{SubjectRegExp: "alice@.*|bob@.*", IssuerRegExp: `https://issuer\.example\.com`}}
			},
			from: "transparency log",
		},
		"somebody else": {
			demand: func(d *cosign.Demand) { d.Identities[0].Subject = "bob@example.com" },
			bundle: "the certificate is for alice@example.com" + ofIssuer + ", wanted bob@example.com" + ofIssuer,
			legacy: "the certificate is for alice@example.com" + ofIssuer + ", wanted bob@example.com" + ofIssuer,
		},
		"by the word of another": {
			demand: func(d *cosign.Demand) { d.Identities[0].Issuer = "https://other.example.com" },
			bundle: ", wanted alice@example.com of https://other.example.com",
			legacy: ", wanted alice@example.com of https://other.example.com",
		},
		"an expression for the beginning": {
			demand: func(d *cosign.Demand) { d.Identities[0] = cosign.Identity{SubjectRegExp: "alice", Issuer: issuer} },
			bundle: "wanted /alice/ of", legacy: "wanted /alice/ of",
		},
		"an expression with a choice": {
			demand: func(d *cosign.Demand) { d.Identities[0] = cosign.Identity{SubjectRegExp: "x|alice", Issuer: issuer} },
			bundle: "wanted /x|alice/ of", legacy: "wanted /x|alice/ of",
		},
		"nobody of several": {
			demand: func(d *cosign.Demand) {
				d.Identities = []cosign.Identity{{Subject: "bob@example.com", Issuer: issuer}, {Subject: "carol@example.com", Issuer: issuer}}
			},
			bundle: "who is not among the 2 identities", legacy: "who is not among the 2 identities",
		},
		"only keys are trusted": {
			demand: func(d *cosign.Demand) { *d = byKey(t, "cosign") },
			bundle: "only keys are accepted here", legacy: "only keys are accepted here",
		},
		"expired before it was logged": {
			does:   expired,
			bundle: "the certificate expired at ", legacy: "the certificate expired at ",
		},
		"logged before it was issued": {
			does:   sigtest.Behaviour{LogAge: 60 * minute},
			bundle: "and it was used before, at ", legacy: "and it was used before, at ",
		},
		"another authority": {
			does:   sigtest.Behaviour{Impostor: true},
			bundle: "no authority of the trusted root vouches for the certificate",
			legacy: "no authority of the trusted root vouches for the certificate",
		},
		"no SCT": {
			does:   sigtest.Behaviour{WithoutSCT: true},
			bundle: "no certificate transparency log", legacy: "no certificate transparency log",
		},
		"no SCT, ignored": {
			does:   sigtest.Behaviour{WithoutSCT: true},
			demand: func(d *cosign.Demand) { d.InsecureIgnoreSCT = true }, from: "transparency log",
		},
		"no proof": {
			does:   sigtest.Behaviour{WithoutProof: true},
			bundle: "the log entry has no inclusion proof", // only one form has it
			from:   "transparency log",
		},
		"no promise": {
			does:   sigtest.Behaviour{WithoutPromise: true},
			bundle: "no trusted source attests when it was made", legacy: "its log entry is incomplete",
		},
		"no log, no timestamp": {
			demand: func(d *cosign.Demand) { d.InsecureIgnoreTlog = true },
			bundle: "no trusted source attests when it was made", legacy: "no trusted source attests when it was made",
		},
		"no log, a timestamp": {
			demand: func(d *cosign.Demand) { d.InsecureIgnoreTlog = true }, stamped: true, from: "timestamp authority",
		},
		"no log, the current time": {
			demand: func(d *cosign.Demand) { d.InsecureIgnoreTlog, d.InsecureIgnoreTimestamp = true, true },
		},
		"no log, expired at the current time": {
			does:   expired,
			demand: func(d *cosign.Demand) { d.InsecureIgnoreTlog, d.InsecureIgnoreTimestamp = true, true },
			bundle: "the certificate expired at ", legacy: "the certificate expired at ",
		},
		"no log, a timestamp after the end": {
			does:   expired,
			demand: func(d *cosign.Demand) { d.InsecureIgnoreTlog = true }, stamped: true,
			bundle: "the certificate expired at ", legacy: "the certificate expired at ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sigtest.New(t)
			s.Behave(tc.does)
			d := byIdentity(s)
			if tc.demand != nil {
				tc.demand(&d)
			}
			claim := sigtest.Claim{Who: alice(), Digest: subject, Reference: "registry.example.com/a", Timestamp: tc.stamped}
			for form, made := range map[string]registry.Attachment{"bundle": s.Bundle(claim), "legacy": s.Legacy(claim)} {
				reason := tc.bundle
				if form == "legacy" {
					reason = tc.legacy
				}
				v := judge(t, build(t, d), subject, made)
				if reason != "" {
					refused(t, v, reason)
					continue
				}
				got := accepted(t, v)
				if got.Form != form || got.Identity != alice().Subject || got.Issuer != issuer || got.Signer != alice().Subject ||
					got.TimeFrom != tc.from || (got.Time != nil) != (tc.from != "") || got.Logged == d.InsecureIgnoreTlog {
					t.Errorf("got %+v", got)
				}
			}
		})
	}
}

// TestIdentityTampered changes parts of valid signatures.
func TestIdentityTampered(t *testing.T) {
	t.Parallel()
	s, other := sigtest.New(t), sigtest.New(t)
	claim := sigtest.Claim{Who: alice(), Digest: subject, Reference: "registry.example.com/a", Timestamp: true}
	elsewhere := claim
	elsewhere.Digest = another
	bundle, legacy := s.Bundle(claim), s.Legacy(claim)
	strange := other.Legacy(claim).Files[0].Annotations
	for name, tc := range map[string]struct {
		found  registry.Attachment
		demand func(*cosign.Demand)
		reason string
	}{
		"bundle of another sigstore": {found: other.Bundle(claim), reason: "no log of the trusted root vouches"},
		"legacy of another sigstore": {
			found: without(other.Legacy(claim), "dev.sigstore.cosign/rfc3161timestamp"), reason: "is of a log that is not in the trusted root",
		},
		"bundle of another digest": {found: s.Bundle(elsewhere), reason: "it signs " + another.String()},
		"legacy of another digest": {found: moved(s.Legacy(elsewhere)), reason: "it signs " + another.String()},
		"attestation": {
			found:  s.Bundle(sigtest.Claim{Who: alice(), Digest: subject, PredicateType: "https://slsa.dev/provenance/v1"}),
			reason: "it is an attestation",
		},
		"bundle without log entry": {
			found:  edited(t, bundle, func(m map[string]any) { delete(inside(m, "verificationMaterial"), "tlogEntries") }),
			reason: "no transparency log entry",
		},
		"bundle with a promise only": {
			found: edited(t, bundle, func(m map[string]any) {
				e, _ := inside(m, "verificationMaterial")["tlogEntries"].([]any)
				delete(e[0].(map[string]any), "inclusionProof")
			}),
			reason: "the log entry has no inclusion proof",
		},
		"bundle with a promise only, that says it is old": {
			found: edited(t, bundle, func(m map[string]any) {
				e, _ := inside(m, "verificationMaterial")["tlogEntries"].([]any)
				delete(e[0].(map[string]any), "inclusionProof")
				m["mediaType"] = "application/vnd.dev.sigstore.bundle+json;version=0.1"
			}),
			reason: "the log entry has no inclusion proof",
		},
		"bundle with the same entry twice": {
			found: edited(t, bundle, func(m map[string]any) {
				v := inside(m, "verificationMaterial")
				e, _ := v["tlogEntries"].([]any)
				v["tlogEntries"] = append(e, e[0])
			}),
			reason: "duplicate tlog entries",
		},
		"bundle with a second entry that is only promised": {
			found: edited(t, bundle, func(m map[string]any) {
				v := inside(m, "verificationMaterial")
				e, _ := v["tlogEntries"].([]any)
				again := map[string]any{}
				for k, val := range e[0].(map[string]any) {
					again[k] = val
				}
				delete(again, "inclusionProof")
				v["tlogEntries"] = append(e, again)
			}),
			reason: "the log entry has no inclusion proof",
		},
		"bundle with the certificate as a key": {
			found: edited(t, bundle, func(m map[string]any) {
				v := inside(m, "verificationMaterial")
				delete(v, "certificate")
				v["publicKey"] = map[string]any{"hint": "x"}
			}),
			reason: "it has no certificate, and only identities are accepted here (hint x)",
		},
		"bundle without signature": {
			found:  edited(t, bundle, func(m map[string]any) { inside(m, "dsseEnvelope")["signatures"] = []any{} }),
			reason: "not have exactly one signature",
		},
		"bundle that signs a file": {
			found: edited(t, bundle, func(m map[string]any) {
				delete(m, "dsseEnvelope")
				raw, _ := base64.StdEncoding.DecodeString("AAAA")
				m["messageSignature"] = map[string]any{"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": raw}, "signature": raw}
			}),
			reason: "it signs a file by its content",
		},
		"legacy without log entry": {found: without(legacy, "dev.sigstore.cosign/bundle"), reason: "no transparency log entry"},
		"legacy without certificate": {
			found: without(legacy, "dev.sigstore.cosign/certificate"), reason: "it has no certificate, and only identities are accepted here",
		},
		"legacy with the certificate of another": {
			found:  with(legacy, "dev.sigstore.cosign/certificate", strange["dev.sigstore.cosign/certificate"]),
			reason: "the log entry is about another key or certificate",
		},
		"legacy with the log entry of another": {
			found:  with(legacy, "dev.sigstore.cosign/bundle", strange["dev.sigstore.cosign/bundle"]),
			reason: "the log entry is about another signature",
		},
		"legacy with the timestamp of another": {
			found:  with(legacy, "dev.sigstore.cosign/rfc3161timestamp", strange["dev.sigstore.cosign/rfc3161timestamp"]),
			reason: "no authority of the trusted root made its timestamp",
		},
		"legacy with a log entry that is a number": {
			found:  with(legacy, "dev.sigstore.cosign/bundle", `{"SignedEntryTimestamp":"AAAA","Payload":{"body":7,"integratedTime":1,"logIndex":1,"logID":"00"}}`),
			reason: "its log entry cannot be read",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, judge(t, build(t, byIdentity(s)), subject, tc.found), tc.reason)
		})
	}
	older := edited(t, bundle, func(m map[string]any) {
		m["mediaType"] = "application/vnd.dev.sigstore.bundle+json;version=0.2"
		v := inside(m, "verificationMaterial")
		v["x509CertificateChain"] = map[string]any{"certificates": []any{v["certificate"]}}
		delete(v, "certificate")
	})
	// A Judge is safe for concurrent use.
	j := build(t, byIdentity(s))
	for _, a := range []registry.Attachment{bundle, legacy, older, bundle, legacy, older} {
		t.Run("untouched", func(t *testing.T) {
			t.Parallel()
			accepted(t, judge(t, j, subject, a))
		})
	}
}

// TestThresholdOfIdentities checks that signers are counted, not signatures.
func TestThresholdOfIdentities(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	signed := func(who string) registry.Attachment {
		return s.Bundle(sigtest.Claim{Who: sigtest.Identity{Subject: who, Issuer: issuer}, Digest: subject})
	}
	one, again, bob := signed(alice().Subject), signed(alice().Subject), signed("bob@example.com")
	d := byIdentity(s, cosign.Identity{SubjectRegExp: ".*@example.com", Issuer: issuer}, cosign.Identity{Subject: alice().Subject, Issuer: issuer})
	d.Threshold = 2
	j := build(t, d)
	if v := judge(t, j, subject, one, again); len(v.Reasons) == 0 {
		t.Errorf("one person counts twice: %+v", v)
	}
	accepted(t, judge(t, j, subject, one, bob))

	d = byIdentity(s)
	d.Keys, d.Threshold, d.InsecureIgnoreTlog = byKey(t, "cosign").Keys, 2, true
	d.InsecureIgnoreTimestamp = true
	accepted(t, judge(t, build(t, d), subject, one, golden(t, "v3-cosign")))
}

// TestKeyInTheLog requires log entries for signatures by key.
func TestKeyInTheLog(t *testing.T) {
	t.Parallel()
	s, other := sigtest.New(t), sigtest.New(t)
	key, err := sign.NewEphemeralKeypair(nil)
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.GetPublicKeyPem()
	if err != nil {
		t.Fatal(err)
	}
	d := cosign.Demand{Keys: []cosign.Key{{Name: "k", PEM: []byte(public)}}, TrustedRoot: s.TrustedRoot()}
	for name, tc := range map[string]struct {
		found  registry.Attachment
		reason string
	}{
		"bundle":                    {found: keyBundle(t, key, s)},
		"legacy":                    {found: keyLegacy(t, key, s)},
		"bundle of another log":     {found: keyBundle(t, key, other), reason: "no log of the trusted root"},
		"legacy of another log":     {found: keyLegacy(t, key, other), reason: "a log that is not in the trusted root"},
		"bundle without entry":      {found: keyBundle(t, key, nil), reason: "no transparency log entry"},
		"legacy without entry":      {found: keyLegacy(t, key, nil), reason: "no transparency log entry"},
		"another key in the log":    {found: golden(t, "v3-cosign"), reason: "none of the required keys made it"},
		"legacy of key, not logged": {found: golden(t, "v2-cosign"), reason: "none of the required keys made it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := judge(t, build(t, d), subject, tc.found)
			if tc.reason != "" {
				refused(t, v, tc.reason)
				return
			}
			if got := accepted(t, v); !got.Logged || got.TimeFrom != "transparency log" || got.Time == nil || got.Signer != "k" {
				t.Errorf("got %+v", got)
			}
			free := d
			free.InsecureIgnoreTlog = true
			if got := accepted(t, judge(t, build(t, free), subject, tc.found)); got.Logged || got.TimeFrom == "transparency log" {
				t.Errorf("nobody asked the log, got %+v", got)
			}
		})
	}
}

// keyBundle signs with a key, and adds a log entry if there is a sigstore.
func keyBundle(t *testing.T, key sign.Keypair, s *sigtest.Sigstore) registry.Attachment {
	t.Helper()
	statement := `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"` + subject.Encoded() +
		`"}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}`
	o := sign.BundleOptions{Context: t.Context()}
	if s != nil {
		o.TransparencyLogs = []sign.Transparency{sign.NewRekor(&sign.RekorOptions{BaseURL: s.RekorURL})}
	}
	b, err := sign.Bundle(&sign.DSSEData{Data: []byte(statement), PayloadType: "application/vnd.in-toto+json"}, key, o)
	if err != nil {
		t.Fatal(err)
	}
	data, err := protojson.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	a := golden(t, "v3-cosign")
	a.Files[0].Data = data
	return a
}

// keyLegacy does this in the legacy form.
func keyLegacy(t *testing.T, key sign.Keypair, s *sigtest.Sigstore) registry.Attachment {
	t.Helper()
	a := golden(t, "v2-cosign")
	sig, hash, err := key.SignData(t.Context(), a.Files[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	a = with(a, "dev.cosignproject.cosign/signature", base64.StdEncoding.EncodeToString(sig))
	if s == nil {
		return a
	}
	public, err := key.GetPublicKeyPem()
	if err != nil {
		t.Fatal(err)
	}
	proposed, err := json.Marshal(map[string]any{"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": map[string]any{
		"data":      map[string]any{"hash": map[string]any{"algorithm": "sha256", "value": digest.NewDigestFromBytes(digest.SHA256, hash).Encoded()}},
		"signature": map[string]any{"content": sig, "publicKey": map[string]any{"content": []byte(public)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(s.RekorURL+"/api/v1/log/entries", "application/json", bytes.NewReader(proposed))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusCreated {
		t.Fatalf("%d %v %s", r.StatusCode, err, body)
	}
	var entries map[string]struct {
		Body, LogID    string
		IntegratedTime int64
		LogIndex       int64
		Verification   struct{ SignedEntryTimestamp string }
	}
	if err := json.Unmarshal(body, &entries); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		kept, err := json.Marshal(map[string]any{
			"SignedEntryTimestamp": e.Verification.SignedEntryTimestamp,
			"Payload":              map[string]any{"body": e.Body, "integratedTime": e.IntegratedTime, "logIndex": e.LogIndex, "logID": e.LogID},
		})
		if err != nil {
			t.Fatal(err)
		}
		return with(a, "dev.sigstore.cosign/bundle", string(kept))
	}
	t.Fatal("the log answered without an entry")
	return a
}

// moved returns a signature of another digest that is stored under the tag of the subject.
func moved(a registry.Attachment) registry.Attachment {
	a.Tag = tag(subject)
	return a
}

// with sets an annotation of the layer.
func with(a registry.Attachment, name, value string) registry.Attachment {
	f := a.Files[0]
	m := map[string]string{}
	for k, v := range f.Annotations {
		m[k] = v
	}
	m[name] = value
	f.Annotations = m
	a.Files = []registry.AttachedFile{f}
	return a
}

func without(a registry.Attachment, name string) registry.Attachment {
	a = with(a, name, "")
	delete(a.Files[0].Annotations, name)
	return a
}

// edited changes the JSON of a bundle.
func edited(t *testing.T, a registry.Attachment, change func(map[string]any)) registry.Attachment {
	t.Helper()
	var m map[string]any
	if err := json.NewDecoder(strings.NewReader(string(a.Files[0].Data))).Decode(&m); err != nil {
		t.Fatal(err)
	}
	change(m)
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	f := a.Files[0]
	f.Data = data
	a.Files = []registry.AttachedFile{f}
	return a
}

func inside(m map[string]any, name string) map[string]any {
	out, _ := m[name].(map[string]any)
	return out
}
