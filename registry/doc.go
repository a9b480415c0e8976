// Package registry answers: where is it?
//
// It turns a written place (oci://…, oci-layout://…, https://…, a file) into
// content addressed by digest, and pushes content back. It hides credentials,
// TLS, retries, the on-disk cache, concurrent reads of one digest, size limits
// and the shapes of manifests and indexes: every source looks the same from
// outside, a root digest and a few files.
//
// What content means, and whether it is trusted, never goes in. No other package
// talks to a registry or reads the cache.
package registry
