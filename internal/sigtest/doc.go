// Package sigtest answers, for tests only: how are signatures made without the public sigstore?
//
// New starts a sigstore in the process of the test, on loopback. It has a certificate authority
// with both interfaces of Fulcio, a certificate transparency log whose timestamps are in the
// certificates, a transparency log with the interface of Rekor v1, a timestamp authority, and an
// issuer of identity tokens. Package sigtest hides their cryptography, writes the files that the
// cosign CLIs need, and can misbehave in ways that an honest sigstore never does.
//
// No package of the krmcat program imports it. It shares no code with what is tested against it:
// verifying signatures never goes in.
package sigtest
