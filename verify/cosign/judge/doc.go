// Package judge answers: does this signature count, by what cosign and sigstore say of it?
//
// It judges the signatures that cosign makes, in both forms in use (the sha256-HEX.sig tag
// and the sigstore bundle as a referrer), and it makes them. It hides cosign and sigstore,
// which nothing else imports: what of them is asked, in which order, which of their answers
// is believed, and in which words a person reads what they say. Package cosign asks it, over a
// connection, since it is a program of its own where krmcat was built with make
// (docs/adr/0027): what it links takes longer to initialise than all the rest of krmcat.
//
// I/O never goes in: signatures come in as registry read them, and those that are made go
// out the same way. (Signing without a key asks sigstore's services, by whoever asks the
// judge.) Settings from the environment, a default trusted root, and functions of sigstore
// that look for either never go in.
package judge
