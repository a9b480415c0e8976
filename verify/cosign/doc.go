// Package cosign answers: who signed this artifact, and is the signer trusted?
//
// It reads the requirements of a policy on signatures, and asks package judge over a connection
// whether they are satisfied. The judge, which links cosign and sigstore, is another program or
// another part of this one, and is started at the first request. This package hides the protocol,
// and rejects responses that are late, malformed or about another request.
//
// Packages that link cosign or sigstore never go in, because every command would wait for their
// initialisation (docs/adr/0027). Nor do decisions about signatures.
package cosign
