// Package mediatypes answers: by which names are krmcat's artifacts known on
// the wire?
//
// It hides the spelling of the media types and the order in which the parts of
// a manifest are consulted to tell a role: artifactType first, then the config,
// then the layers. The names are a contract, see docs/formats.md.
//
// I/O never goes in, nor anything that knows what an artifact contains.
package mediatypes
