// Package mediatypes answers: which media types do krmcat's artifacts have?
//
// It hides the media types and the order in which the parts of a manifest determine a role:
// artifactType first, then the config, then the layers. The names are a contract, see
// docs/formats.md.
//
// I/O never goes in, nor does anything that depends on the content of an artifact.
package mediatypes
