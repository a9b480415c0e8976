// Package composition answers: which transformers does a Composition run, and in which order?
//
// It reads a Composition and everything that it imports, applies overrides, orders the
// transformers, and writes the result as one Composition (KEP-2299). It hides where each
// transformer was declared, and how its paths are rewritten for another directory.
//
// kustomize never goes in, and nothing is run.
package composition
