// Package layout answers: which content does an OCI image layout on disk have, and how is content
// added to it?
//
// It hides index.json, the form of layouts that cosign saved, the lock, and the order of writes
// that keeps a layout valid after a kill.
//
// Requests to another machine never go in, nor what content means beyond its manifest.
package layout
