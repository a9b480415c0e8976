package verify

import (
	"cmp"
	"context"
	"time"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/registry"
)

// Signature is one signature of an artifact: the verified facts or, without verification, its
// claims.
type Signature struct {
	// Form is how it is stored: "bundle", a sigstore bundle as a referrer, or "legacy",
	// cosign's sha256-HEX.sig tag.
	Form     string        `json:"form"`
	Subject  digest.Digest `json:"subject"`            // the digest that it claims to sign; "" if it cannot be read
	Manifest digest.Digest `json:"manifest"`           // the manifest that contains it
	Signer   string        `json:"signer,omitempty"`   // name of the signer in the policy
	Key      string        `json:"key,omitempty"`      // sha256:HEX of the public key in DER, if known
	Identity string        `json:"identity,omitempty"` // of the certificate: an e-mail address, a URI, …
	Issuer   string        `json:"issuer,omitempty"`   // URL of the issuer that attested the identity
	// Time is when it was made, attested by TimeFrom; nil if unknown. Without verification it is
	// only a claim.
	Time        *time.Time        `json:"time,omitempty"`
	TimeFrom    string            `json:"timeFrom,omitempty"` // "transparency log", "timestamp authority"
	Logged      bool              `json:"logged"`             // its entry in a transparency log was verified
	Annotations map[string]string `json:"annotations,omitempty"`
	// Section is the position of the requirement: file:line of the section of a policy, or the
	// flags; "" for none. Another section may give another result for the same signature.
	Section  string `json:"section,omitempty"`
	Verified bool   `json:"verified"`         // it satisfies the requirement
	Reason   string `json:"reason,omitempty"` // why it does not
}

// String describes the signer, time and form.
func (s Signature) String() string { return s.who() + " [" + s.Form + "]" }

// Refusal returns why it does not satisfy the requirement, as in the reasons of a Verdict.
func (s Signature) Refusal() Reason { return Reason{s.Form + " signature: " + s.Reason, true} }

// Reason is a reason why content is not trusted.
type Reason struct {
	Text string `json:"text"`
	// OfSignature means that it is that of a single signature, which is listed too.
	OfSignature bool `json:"ofSignature,omitempty"`
}

// Because returns reasons that are not those of single signatures.
func Because(texts ...string) []Reason {
	var out []Reason
	for _, text := range texts {
		out = append(out, Reason{Text: text})
	}
	return out
}

// Texts returns the texts of reasons.
func Texts(reasons []Reason) []string {
	var out []string
	for _, r := range reasons {
		out = append(out, r.Text)
	}
	return out
}

// who returns String without the form.
func (s Signature) who() string {
	who, key := s.Signer, shortKey(s.Key)
	switch {
	case s.Identity != "" && s.Issuer != "":
		who = s.Identity + " (" + s.Issuer + ")"
	case who == "":
		who = cmp.Or(key, "an unknown key")
	case key != "" && s.Key != who:
		who += " (" + key + ")"
	}
	if s.Time != nil {
		who += " at " + s.Time.UTC().Format(time.RFC3339) + " (" + s.TimeFrom + ")"
	}
	if !s.Logged {
		who += ", not looked up in a transparency log"
	}
	return who
}

// shortKey returns the first 12 digits of a key's digest.
func shortKey(key string) string {
	const shown = len("sha256:") + 12
	if len(key) <= shown {
		return key
	}
	return key[:shown] + "…"
}

// Method is one way of verifying signatures, a package below this one.
type Method interface {
	// Name returns the key of its section in the rules of a policy.
	Name() string
	// Judge reads a section, strictly. Errors name the field. The Judge of a nil section accepts
	// nothing, and only reads claims.
	Judge(section *yaml.RNode, read ReadFile) (Judge, error)
}

// ReadFile reads a file that a policy names, relative to the policy. Methods do not read files
// themselves.
type ReadFile func(path string) ([]byte, error)

// Judge compares signatures with the requirements of one rule. It does no I/O, and is safe for
// concurrent use.
type Judge interface {
	// Query selects the signatures of a digest.
	Query(subject digest.Digest) registry.Query
	// Judge checks all signatures. An error means that it could not check them. If they do not
	// satisfy the requirements, the Verdict has reasons.
	Judge(ctx context.Context, subject digest.Digest, found []registry.Attachment) (Verdict, error)
	// String describes the requirements: "a signature by cosign.pub".
	String() string
}

// Verdict is the result of a Judge.
type Verdict struct {
	Signatures []Signature // all signatures, those that satisfy the requirements first
	Reasons    []Reason    // why they do not satisfy the requirements; empty if they do
	Needed     int         // number of different signers required; 0 for one
}

// Listing is a Judge that may know all possible signers.
type Listing interface {
	// Listed returns the possible signers as Signatory does, and the number that is required.
	// all is false if there may be others.
	Listed() (who []string, needed int, all bool)
}

// Noting is a Judge with notes for readers of a policy, for example about checks that are turned
// off.
type Noting interface {
	// Notes returns one text for each note.
	Notes() []string
}
