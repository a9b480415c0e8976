// Package source answers: what is in the files of a target, and where?
//
// It reads a file into documents whose nodes have positions, distinguishes Kustomizations and
// Compositions by the names of files, follows paths as far as the load restrictor permits, and
// reports errors with file and line. It hides the limits on YAML, and which paths kustomize reads
// as URLs.
//
// What a field means never goes in.
package source
