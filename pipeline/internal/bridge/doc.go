// Package bridge answers: how does kustomize build a tree, and call krmcat for functions?
//
// It runs kustomize's own code on a tree of which some files are served from memory. kustomize can
// use neither the network nor the programs of the host. To kustomize, a run of Steps is a
// transformer in this process (docs/adr/0028-steps-in-the-process.md). kustomize starts helm
// through krmcat, so that helm ends with the render. The package hides that kustomize takes no
// context, panics, and discards errors (docs/adr/0004-step-bridge.md).
//
// Reading a target, and explaining an error to a user, never go in.
package bridge
