// Package regtest answers, for tests only: what does a registry do, and what does a faulty registry
// do?
//
// Start runs a registry on loopback: plain, with logins or with TLS. Serve runs a registry in the
// process of the test. Middlewares make it fail in every way that a client has to handle.
//
// No package of the krmcat program imports it. It knows nothing about krmcat's artifacts.
package regtest
