package tamper

import (
	"encoding/json"
	"time"

	"github.com/krmcat/krmcat/internal/sigtest"
	"github.com/krmcat/krmcat/registry"
)

// another makes the signature that replaces alice's.
type another func(s *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment

// keyless publishes a script that alice signed without a key, in one form, and returns the command
// that verifies this.
func keyless(form string, other another) func(*scene) ([]string, func()) {
	return signedByAlice(form, false, other)
}

// timed does the same with a timestamp, and the command does not ask the log: the timestamp is the
// only proof of the time.
func timed(form string, other another) func(*scene) ([]string, func()) {
	return signedByAlice(form, true, other)
}

func signedByAlice(form string, timed bool, other another) func(*scene) ([]string, func()) {
	return func(s *scene) ([]string, func()) {
		store := sigtest.New(s.t)
		store.Write(s.dir, alice())
		d := s.script("fns/label", goodScript, "v1")
		c := sigtest.Claim{Who: alice(), Digest: d.Digest, Reference: "registry.example.com/fns/label", Timestamp: timed}
		s.attach("fns/label", d, made(store, form, c))
		run := []string{
			"verify", label, "--trusted-root", sigtest.TrustedRootFile,
			"--certificate-identity", alice().Subject, "--certificate-oidc-issuer", alice().Issuer,
		}
		if timed {
			run = append(run, "--insecure-ignore-tlog")
		}
		return run, func() {
			s.strip("fns/label", d)
			s.attach("fns/label", d, other(s, store, c))
		}
	}
}

// made returns a signature in one form.
func made(store *sigtest.Sigstore, form string, c sigtest.Claim) registry.Attachment {
	if form == "legacy" {
		return store.Legacy(c)
	}
	return store.Bundle(c)
}

// behaving signs with a sigstore that behaves in some way.
func behaving(form string, b sigtest.Behaviour) func(*scene) ([]string, func()) {
	return keyless(form, func(_ *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
		store.Behave(b)
		return made(store, form, c)
	})
}

// as signs as another identity.
func as(form string, who sigtest.Identity) func(*scene) ([]string, func()) {
	return keyless(form, func(_ *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
		c.Who = who
		return made(store, form, c)
	})
}

// logEntries changes the log entries of alice's bundle.
func logEntries(change func(mine []any, store *sigtest.Sigstore, c sigtest.Claim) []any) func(*scene) ([]string, func()) {
	return keyless("bundle", func(s *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
		a := store.Bundle(c)
		b := s.decode(a.Files[0].Data)
		m := b["verificationMaterial"].(map[string]any)
		m["tlogEntries"] = change(m["tlogEntries"].([]any), store, c)
		a.Files[0].Data = marshal(b)
		return a
	})
}

func (s *scene) decode(data []byte) map[string]any {
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		s.t.Fatal(err)
	}
	return v
}

// regexps verifies alice's signature by regular expressions. The other signature is of who, whose
// name is similar.
func regexps(who sigtest.Identity) func(*scene) ([]string, func()) {
	return func(s *scene) ([]string, func()) {
		_, tamper := as("bundle", who)(s)
		return []string{
			"verify", label, "--trusted-root", sigtest.TrustedRootFile,
			"--certificate-identity-regexp", "alice@example[.]com|bob", "--certificate-oidc-issuer-regexp", "https://issuer[.]example[.]com",
		}, tamper
	}
}

// keylessRows tamper with certificates and logs.
func keylessRows() map[string]tampering {
	const hour = time.Hour
	expired := sigtest.Behaviour{CertificateAge: hour}
	early := sigtest.Behaviour{LogAge: hour}
	mallory := sigtest.Identity{Subject: "mallory@example.com", Issuer: alice().Issuer}
	elsewhere := sigtest.Identity{Subject: alice().Subject, Issuer: "https://issuer.example.net"}
	return map[string]tampering{
		"a bundle logged after its certificate had expired":            {behaving("bundle", expired), "the certificate expired at .*, before it was used at"},
		"a signature logged after its certificate had expired":         {behaving("legacy", expired), "the certificate expired at .*, before it was used at"},
		"a bundle logged before its certificate was valid":             {behaving("bundle", early), "the certificate is valid from .*, and it was used before"},
		"a signature logged before its certificate was valid":          {behaving("legacy", early), "the certificate is valid from .*, and it was used before"},
		"a bundle without inclusion proof":                             {behaving("bundle", sigtest.Behaviour{WithoutProof: true}), "the log entry has no inclusion proof"},
		"a bundle without a signed entry timestamp":                    {behaving("bundle", sigtest.Behaviour{WithoutPromise: true}), "no trusted source attests when it was made"},
		"a signature without a signed entry timestamp":                 {behaving("legacy", sigtest.Behaviour{WithoutPromise: true}), "its log entry is incomplete"},
		"a bundle whose certificate has no timestamp of a log":         {behaving("bundle", sigtest.Behaviour{WithoutSCT: true}), `vouches for the certificate \(SCT\)`},
		"a signature whose certificate has no timestamp of a log":      {behaving("legacy", sigtest.Behaviour{WithoutSCT: true}), `vouches for the certificate \(SCT\)`},
		"a bundle with a certificate of another authority":             {behaving("bundle", sigtest.Behaviour{Impostor: true}), "no authority of the trusted root vouches for the certificate"},
		"a signature with a certificate of another authority":          {behaving("legacy", sigtest.Behaviour{Impostor: true}), "no authority of the trusted root vouches for the certificate"},
		"a bundle of another sigstore":                                 {keyless("bundle", stranger), "at .*signature itself.*no log of the trusted root vouches for the log entry"},
		"a bundle by another identity":                                 {as("bundle", mallory), "the certificate is for mallory@example.com of https://issuer.example.com, wanted alice@example.com"},
		"a signature by another identity":                              {as("legacy", mallory), "the certificate is for mallory@example.com of https://issuer.example.com, wanted alice@example.com"},
		"a bundle by the same name of another issuer":                  {as("bundle", elsewhere), "the certificate is for alice@example.com of https://issuer.example.net, wanted"},
		"a signature by the same name of another issuer":               {as("legacy", elsewhere), "the certificate is for alice@example.com of https://issuer.example.net, wanted"},
		"a name whose end matches the expression":                      {regexps(sigtest.Identity{Subject: "malice-alice@example.com", Issuer: alice().Issuer}), "the certificate is for malice-alice@example.com"},
		"a name whose beginning matches the expression":                {regexps(sigtest.Identity{Subject: "alice@example.com.evil.example", Issuer: alice().Issuer}), "the certificate is for alice@example.com.evil.example"},
		"an issuer whose beginning matches the expression":             {regexps(sigtest.Identity{Subject: alice().Subject, Issuer: "https://issuer.example.com.evil.example"}), "of https://issuer.example.com.evil.example"},
		"a name with a part that matches one branch of the expression": {regexps(sigtest.Identity{Subject: "bob@example.com", Issuer: alice().Issuer}), "the certificate is for bob@example.com"},
		"a bundle without any log entry": {logEntries(func([]any, *sigtest.Sigstore, sigtest.Claim) []any {
			return []any{}
		}), "no transparency log entry"},
		"a bundle with a wrong inclusion proof": {logEntries(func(mine []any, _ *sigtest.Sigstore, _ sigtest.Claim) []any {
			proof := mine[0].(map[string]any)["inclusionProof"].(map[string]any)
			hashes := proof["hashes"].([]any)
			hashes[0], proof["hashes"] = proof["rootHash"], hashes
			return mine
		}), "the log entry is invalid: its inclusion proof does not match"},
		"a bundle with the log entry of another signature": {keyless("bundle", func(s *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
			a, other := store.Bundle(c), store.Bundle(c)
			b, theirs := s.decode(a.Files[0].Data), s.decode(other.Files[0].Data)
			b["verificationMaterial"].(map[string]any)["tlogEntries"] = theirs["verificationMaterial"].(map[string]any)["tlogEntries"]
			a.Files[0].Data = marshal(b)
			return a
		}), "the log entry is about another signature"},
		"a signature with the log entry of another signature": {keyless("legacy", func(_ *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
			a, other := store.Legacy(c), store.Legacy(c)
			a.Files[0].Annotations["dev.sigstore.cosign/bundle"] = other.Files[0].Annotations["dev.sigstore.cosign/bundle"]
			return a
		}), "the log entry is about another signature"},
		"a signature without its log entry": {keyless("legacy", func(_ *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
			a := store.Legacy(c)
			delete(a.Files[0].Annotations, "dev.sigstore.cosign/bundle")
			return a
		}), "no transparency log entry"},
		"an attestation by the right identity": {keyless("bundle", func(_ *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
			c.PredicateType = slsaPredicate
			a := store.Bundle(c)
			a.Annotations[predicateKey] = signPredicate
			return a
		}), "it is an attestation"},
		"the certificate of the right identity on the signature of another": {keyless("legacy", func(s *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
			a, theirs := store.Legacy(c), s.stranger.legacy(said{digest: c.Digest})
			a.Files[0].Data = theirs.Files[0].Data
			a.Files[0].Annotations[signatureKey] = theirs.Files[0].Annotations[signatureKey]
			return a
		}), "the log entry is about another signature"},
		"a signature by a key where an identity is required": {keyless("bundle", func(s *scene, _ *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
			return s.platform.bundle(said{digest: c.Digest})
		}), "it has no certificate, and only identities are accepted here"},
	}
}

// stranger returns a signature with the right name from a sigstore that nobody trusts.
func stranger(s *scene, _ *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
	return sigtest.New(s.t).Bundle(c)
}
