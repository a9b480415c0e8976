// Package bridge answers: how does kustomize build a tree, and call krmcat for functions?
//
// It runs kustomize's own code on a tree of which some files are served from memory, with the
// network and the programs of this machine taken away. A run of Steps is one of kustomize's
// transformers in this process (docs/adr/0028-steps-in-the-process.md); helm is started by way of
// krmcat, which ends with the render. The package hides that kustomize takes no context, panics,
// and discards errors (docs/adr/0004-step-bridge.md).
//
// What a target asks for never goes in, nor what its errors mean to a user.
package bridge
