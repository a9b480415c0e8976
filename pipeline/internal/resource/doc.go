// Package resource answers: which resource is this, and can it be passed on?
//
// It has the id by which kustomize tells resources apart, the annotations that orchestrators keep
// for themselves, and what of a resource kustomize or a printer would fail on. It hides how an id
// is written in an annotation, and in a message of kustomize's.
//
// What a function did to a resource never goes in.
package resource
