package cosign

import (
	"reflect"
	"time"
)

// Demand is what one rule asks of signatures. It is the section of a policy with its files
// read, and what flags build.
type Demand struct {
	// Threshold is how many different signers are needed; 0 is one. A key or identity
	// counts once, however often it signed.
	Threshold  int
	Keys       []Key
	Identities []Identity
	// TrustedRoot is a sigstore trusted root (JSON): the certificate authorities, logs and
	// timestamp authorities that are believed. Identities need one. Nil for none.
	TrustedRoot []byte
	// Annotations have to be in the signature, with these values.
	Annotations map[string]string
	// NotBefore is when signatures have to be made, or later: those that were made before it
	// do not count, so that nothing older comes back. It is for identities alone: that a key
	// was used after a time is nothing that a log or an authority can say. Zero for whenever.
	NotBefore time.Time
	Forms     []Form // that count; none for both
	// InsecureIgnoreTlog takes signatures that no transparency log has. Keys without a
	// TrustedRoot need it: nothing else can tell.
	InsecureIgnoreTlog bool
	// InsecureIgnoreSCT takes certificates that no certificate transparency log has.
	InsecureIgnoreSCT bool
	// InsecureIgnoreTimestamp takes certificates without proof that they were valid when
	// the signature was made, if they are valid now.
	InsecureIgnoreTimestamp bool
}

// Key is a public key that is trusted.
type Key struct {
	Name string // for people; empty for the base name of Path, or the key's digest
	Path string // where it was read, for the name; may be empty
	PEM  []byte // PUBLIC KEY: ECDSA, RSA of at least 2048 bits, Ed25519
}

// Identity is whom a certificate has to be for, and by whose word. Either the exact value or
// the regular expression is given of each; an expression has to match all of it.
type Identity struct {
	Subject       string // an e-mail address, a URI, …
	SubjectRegExp string
	Issuer        string // the URL of who attested it
	IssuerRegExp  string
	// Extensions are what the certificate has to say beside, by the names that Fulcio has for
	// its fields: sourceRepositoryURI for the exact value, sourceRepositoryURIRegExp for an
	// expression that matches all of it.
	Extensions map[string]string
}

// IsZero reports whether nothing is asked for.
func (id Identity) IsZero() bool { return reflect.DeepEqual(id, Identity{}) }

// RegExp is behind the name of a field whose value is an expression.
const RegExp = "RegExp"

// ExtensionNames are the fields that Fulcio writes into certificates, as sigstore spells them:
// https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md. The issuer is a field of an
// identity.
func ExtensionNames() []string {
	return []string{
		"githubWorkflowTrigger", "githubWorkflowSHA", "githubWorkflowName", "githubWorkflowRepository", "githubWorkflowRef",
		"buildSignerURI", "buildSignerDigest", "runnerEnvironment", "sourceRepositoryURI", "sourceRepositoryDigest", "sourceRepositoryRef",
		"sourceRepositoryIdentifier", "sourceRepositoryOwnerURI", "sourceRepositoryOwnerIdentifier", "buildConfigURI", "buildConfigDigest",
		"buildTrigger", "runInvocationURI", "sourceRepositoryVisibilityAtSigning",
	}
}

// extensionFields are the names that a policy may write.
func extensionFields() []string {
	var out []string
	for _, n := range ExtensionNames() {
		out = append(out, n, n+RegExp)
	}
	return out
}
