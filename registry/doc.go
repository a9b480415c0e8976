// Package registry answers: where is it?
//
// It turns a reference (registry/reference) into content addressed by digest, and pushes content.
// It hides size limits and concurrent reads of one digest: every source looks the same from
// outside, a root digest and a few files. Its rooms hide the rest: internal/transport credentials,
// TLS and retries, internal/manifest the formats of manifests and indexes, internal/layout OCI
// layouts on disk, internal/store the cache and plain files, internal/problem the errors.
//
// The meaning of content, and whether it is trusted, never go in. No other package makes requests
// to a registry or reads the cache.
package registry
