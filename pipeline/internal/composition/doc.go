// Package composition answers: which transformers does a Composition run, and in which order?
//
// It reads a Composition and all that it imports, lays overrides over what is imported, puts the
// transformers in order, and writes the whole as one Composition (KEP-2299). It hides where each
// transformer was declared, and how its paths are made to mean the same elsewhere.
//
// kustomize never goes in, and nothing is run.
package composition
