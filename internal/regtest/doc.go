// Package regtest answers, for tests only: what does a registry do, and what does a bad
// one do?
//
// Start runs the CNCF distribution registry, the real program, on loopback: plain, with
// logins or with TLS. Serve is a small registry in this process that can be made to
// misbehave in every way a client has to survive.
//
// Nothing that a command of krmcat runs imports it, and it knows nothing of krmcat's
// artifacts.
package regtest
