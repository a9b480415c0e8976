// Package registry answers: where is it?
//
// It turns a reference (registry/reference) into content addressed by digest, and pushes content.
// It hides the formats of manifests and indexes, size limits and concurrent reads of one digest:
// every source looks the same from outside, a root digest and a few files. Below it,
// internal/transport hides credentials, TLS and retries, and internal/store the cache on disk.
//
// The meaning of content, and whether it is trusted, never go in. No other package makes requests
// to a registry or reads the cache.
package registry
