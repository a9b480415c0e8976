// Package source answers: what stands in the files of a target, and where?
//
// It reads a file into documents whose nodes have positions, tells Kustomizations from Compositions
// by the names of files, follows paths as far as the load restrictor lets it, and reports what is
// wrong with file and line. It hides how YAML is kept from growing beyond bounds, and in which forms
// kustomize takes a path for a URL.
//
// What a field means never goes in.
package source
