// Package rewrite answers: what does kustomize see of a target, and where does it call krmcat?
//
// Compile reads a Kustomization, a Component or a Composition and everything that it refers to. It
// returns a tree of files for kustomize, the runs of functions in it, and the steps that the
// executor runs before kustomize. It hides the virtual Components that keep the order of functions
// and builtins (docs/adr/0010-composition-as-components.md), and restores the user's files and
// names in kustomize's errors and annotations.
//
// Running functions never goes in. Kustomize itself is run by a function that is passed to Compile.
package rewrite
