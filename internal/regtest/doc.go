// Package regtest answers, for tests only: what does a registry do, and what does a faulty
// registry do?
//
// Start runs a registry on loopback: plain, with logins or with TLS. Serve runs a registry in
// this process that middlewares make misbehave in every way that a client has to survive.
//
// Nothing that a command of krmcat runs imports it, and it knows nothing of krmcat's artifacts.
package regtest
