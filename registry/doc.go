// Package registry answers: where is it?
//
// It turns a place (registry/reference) into content addressed by digest, and pushes content back. It
// hides the shapes of manifests and indexes, size limits and concurrent reads of one digest: every
// source looks the same from outside, a root digest and a few files. Below it, internal/transport hides
// credentials, TLS and retries, and internal/store the cache on disk.
//
// What content means, and whether it is trusted, never goes in. No other package
// talks to a registry or reads the cache.
package registry
