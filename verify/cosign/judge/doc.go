// Package judge answers: does this signature satisfy the requirements, according to cosign and
// sigstore?
//
// It verifies and makes the signatures of cosign, in both forms in use (the tag sha256-HEX.sig, and
// the sigstore bundle as a referrer). It hides cosign and sigstore, which no other package imports:
// which of their functions are called, in which order, which results are used, and how their errors
// are worded. Package cosign sends it requests over a connection, because it is a separate program
// if krmcat was built with make (docs/adr/0027): what it links takes longer to initialise than the
// rest of krmcat.
//
// I/O never goes in: signatures come in as registry has read them, and new ones go out in the same
// way. (Signing without a key uses sigstore's services through the caller.) Settings from the
// environment, a default trusted root, and functions of sigstore that use either never go in.
package judge
