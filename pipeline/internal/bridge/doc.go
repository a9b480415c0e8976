// Package bridge answers: how does kustomize build a tree, and come back to krmcat for functions?
//
// It runs kustomize's own code on a tree of which some files are served from memory, with the
// network and the programs of this machine taken away, and answers what kustomize calls back: a
// run of Steps, by a socket, or helm, by way of krmcat. It hides that kustomize takes no context,
// panics, and swallows errors (docs/adr/0004-step-bridge.md).
//
// What a target asks for never goes in, nor what its errors mean to a user.
package bridge
