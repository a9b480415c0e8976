// Package transport answers: how is a server requested?
//
// It hides proxies, certificates, credentials, timeouts, the minimum speed of a body, retries, and
// the limits on where a redirect or token realm may lead.
//
// What is requested, and what a response means, never goes in.
package transport
