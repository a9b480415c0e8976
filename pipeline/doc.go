// Package pipeline answers: what is to be rendered, and in which order?
//
// It reads a directory (a Kustomization, a Component or a Composition) into the
// complete list of functions that it asks for, and builds it once they can be called.
// It hides kustomize: how a Kustomization is rewritten so that its functions come back
// to krmcat (the step bridge, docs/adr/0004-step-bridge.md), and how it is kept from
// opening a door of its own.
//
// How a function is found, trusted or run never goes in: Build calls nothing but the
// Apply it is given.
package pipeline
