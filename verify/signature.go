package verify

import (
	"cmp"
	"context"
	"time"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/registry"
)

// Signature is one signature that is attached to an artifact: what was found out about it
// or, where nobody vouches for it, what it claims.
type Signature struct {
	// Form is how it is stored: "bundle", a sigstore bundle as a referrer, or "legacy",
	// cosign's sha256-HEX.sig tag.
	Form     string        `json:"form"`
	Subject  digest.Digest `json:"subject"`            // what it signs, as it says itself; "" where that cannot be read
	Manifest digest.Digest `json:"manifest"`           // of the manifest that carries it
	Signer   string        `json:"signer,omitempty"`   // the name that the policy has for who signed
	Key      string        `json:"key,omitempty"`      // sha256:HEX of the public key in DER, where one is known
	Identity string        `json:"identity,omitempty"` // of the certificate: an e-mail address, a URI, …
	Issuer   string        `json:"issuer,omitempty"`   // who attested the identity: a URL
	// Time is when it was made: as TimeFrom says, and nil where nobody does. Of a signature
	// that is not verified it is a claim like all else.
	Time        *time.Time        `json:"time,omitempty"`
	TimeFrom    string            `json:"timeFrom,omitempty"` // "transparency log", "timestamp authority"
	Logged      bool              `json:"logged"`             // that a transparency log has it was checked
	Annotations map[string]string `json:"annotations,omitempty"`
	// Section is where it is said what was asked of it: file:line of the section of a policy, or the
	// flags. "" where nothing asked. Other sections may judge the same signature otherwise.
	Section  string `json:"section,omitempty"`
	Verified bool   `json:"verified"`         // it counts
	Reason   string `json:"reason,omitempty"` // why it does not count
}

// String names the signer, and when and how it is known: for people.
func (s Signature) String() string { return s.who() + " [" + s.Form + "]" }

// Refusal is why it does not count, as a verdict's reasons have it.
func (s Signature) Refusal() string { return s.Form + " signature: " + s.Reason }

// who is String without the form.
func (s Signature) who() string {
	who, key := s.Signer, shortKey(s.Key)
	switch {
	case s.Identity != "" && s.Issuer != "":
		who = s.Identity + " (" + s.Issuer + ")"
	case who == "":
		who = cmp.Or(key, "an unnamed key")
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

// shortKey is as much of a key's digest as people compare.
func shortKey(key string) string {
	const shown = len("sha256:") + 12
	if len(key) <= shown {
		return key
	}
	return key[:shown] + "…"
}

// Method is one way of judging signatures, a package below this one.
type Method interface {
	// Name is the key of its section in the rules of a policy.
	Name() string
	// Judge reads a section, strictly. Errors say which field. A nil section demands
	// something that nobody can fulfil: such a Judge tells what signatures claim.
	Judge(section *yaml.RNode, read ReadFile) (Judge, error)
}

// ReadFile reads a file that a policy names, relative to where the policy stands. Methods
// read nothing themselves.
type ReadFile func(path string) ([]byte, error)

// Judge holds signatures against what one rule demands. It does no I/O, and is safe for
// concurrent use.
type Judge interface {
	// Query says where signatures of a digest are found.
	Query(subject digest.Digest) registry.Query
	// Judge looks at all that was found. Error is for what kept it from judging; that
	// the signatures do not do is a Verdict.
	Judge(ctx context.Context, subject digest.Digest, found []registry.Attachment) (Verdict, error)
	// String is what it demands, for people: "a signature by cosign.pub".
	String() string
}

// Verdict is what a Judge says.
type Verdict struct {
	Signatures []Signature // every one found, those that count first
	Reasons    []string    // why they do not do; none where they do
	Needed     int         // how many different signers it takes; 0 for one
}

// Listing is a Judge that may know everybody who could satisfy it.
type Listing interface {
	// Listed gives them as Signatory does, and how many of them it takes. It is false where
	// there may be others.
	Listed() (who []string, needed int, all bool)
}

// Noting is a Judge that has something to say of what it demands, for those who read a policy:
// checks that are turned off, for example.
type Noting interface{ Notes() []string }
