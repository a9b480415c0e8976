// Package sigtest answers, for tests only: who would sign it, if there were no outside?
//
// New starts a sigstore in this process, on loopback: a certificate authority with the two
// interfaces of Fulcio, a certificate transparency log that its certificates prove to be in,
// a transparency log with the interface of Rekor v1, a timestamp authority, and an issuer of
// identity tokens. It hides the cryptography of all of them, writes the files that the
// cosign CLIs want, and can be told to do what an honest one never does.
//
// Nothing that a command of krmcat runs imports it, and it shares no code with what is
// tested against it: judging signatures never goes in.
package sigtest
