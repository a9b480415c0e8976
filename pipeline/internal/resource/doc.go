// Package resource answers: which resource is this, and can it be passed on?
//
// It has the id by which kustomize distinguishes resources, the annotations of orchestrators, and
// the checks for content that kustomize or a printer fails on. It hides how an id is written in an
// annotation, and in a message of kustomize.
//
// What a function did to a resource never goes in.
package resource
