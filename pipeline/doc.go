// Package pipeline answers: what is to be rendered, and in which order?
//
// It loads a directory (a Kustomization, a Component or a Composition) as the complete list of
// functions that it asks for, and builds it once they can be called. Each part of that is a package
// below: source reads files, fnconfig the config of a function, composition a Composition, rewrite
// makes of a target what kustomize shall see, and bridge has kustomize build that, so that functions
// come back to krmcat (docs/adr/0004-step-bridge.md). What is here runs the functions, checks what
// they return as their roles ask for, and tells which of them an error of kustomize's may be about.
//
// How a function is found, trusted or run never goes in: Build calls nothing but the
// Apply it is given.
package pipeline
