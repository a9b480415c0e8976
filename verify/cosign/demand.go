package cosign

import (
	"reflect"
	"time"
)

// Demand is the requirement of one rule on signatures: the section of a policy with its files read,
// or what flags specify.
type Demand struct {
	// Threshold is the number of different signers required; 0 means one. A key or identity
	// counts once.
	Threshold  int
	Keys       []Key
	Identities []Identity
	// TrustedRoot is a sigstore trusted root (JSON): the accepted certificate authorities, logs and
	// timestamp authorities. Identities need one. Nil for none.
	TrustedRoot []byte
	// Annotations are required in the signature, with these values.
	Annotations map[string]string
	// NotBefore is the earliest time of signatures, as a protection against rollback; zero for any
	// time. It is for identities only: neither a log nor an authority can attest that a key was
	// used after a time.
	NotBefore time.Time
	Forms     []Form // accepted forms; empty for both
	// InsecureIgnoreTlog accepts signatures without an entry in a transparency log. Keys without
	// a TrustedRoot need it.
	InsecureIgnoreTlog bool
	// InsecureIgnoreSCT accepts certificates without an entry in a certificate transparency log.
	InsecureIgnoreSCT bool
	// InsecureIgnoreTimestamp accepts certificates without proof that they were valid at the time
	// of the signature, if they are valid now.
	InsecureIgnoreTimestamp bool
}

// Key is a trusted public key.
type Key struct {
	Name string // for messages; "" for the base name of Path, or else the key's digest
	Path string // file that it was read from, for the name; may be ""
	PEM  []byte // PUBLIC KEY: ECDSA, RSA of at least 2048 bits, Ed25519
}

// Identity is a trusted identity of a certificate, with its issuer. Each is given either exactly or
// as a regular expression, which must match the whole value.
type Identity struct {
	Subject       string // an e-mail address, a URI, …
	SubjectRegExp string
	Issuer        string // URL of the issuer that attests the subject
	IssuerRegExp  string
	// Extensions are further requirements on the certificate, by Fulcio's names of its fields:
	// sourceRepositoryURI for an exact value, sourceRepositoryURIRegExp for a regular expression
	// that matches the whole value.
	Extensions map[string]string
}

// IsZero reports whether the identity has no requirements.
func (id Identity) IsZero() bool { return reflect.DeepEqual(id, Identity{}) }

// RegExp is the suffix of a field whose value is a regular expression.
const RegExp = "RegExp"

// ExtensionNames returns the fields that Fulcio writes into certificates, in sigstore's spelling,
// without the issuer: https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md.
func ExtensionNames() []string {
	return []string{
		"githubWorkflowTrigger", "githubWorkflowSHA", "githubWorkflowName", "githubWorkflowRepository", "githubWorkflowRef",
		"buildSignerURI", "buildSignerDigest", "runnerEnvironment", "sourceRepositoryURI", "sourceRepositoryDigest", "sourceRepositoryRef",
		"sourceRepositoryIdentifier", "sourceRepositoryOwnerURI", "sourceRepositoryOwnerIdentifier", "buildConfigURI", "buildConfigDigest",
		"buildTrigger", "runInvocationURI", "sourceRepositoryVisibilityAtSigning",
	}
}

// extensionFields returns the fields that a policy may use.
func extensionFields() []string {
	var out []string
	for _, n := range ExtensionNames() {
		out = append(out, n, n+RegExp)
	}
	return out
}
