// Package rewrite answers: what shall kustomize see of a target, and where does it call back?
//
// Compile reads a Kustomization, a Component or a Composition with all below it, and gives a tree of
// files for kustomize, the runs of functions in it, and what the executor runs before kustomize does.
// It hides the virtual Components that keep the order of functions and builtins
// (docs/adr/0010-composition-as-components.md), and puts the user's files and names back into
// kustomize's errors and annotations.
//
// Running functions never goes in; kustomize itself is run by whom Compile is given.
package rewrite
