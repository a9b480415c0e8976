// Package step answers: what does krmcat do when kustomize calls it back?
//
// kustomize starts a plugin for each run of functions: krmcat under another name. That process
// passes the resources on its stdin to the listening render, and prints the response. kustomize
// also starts krmcat for helm: it becomes helm after it has told the render its process group.
// If krmcat was built with make for linux/amd64, a small part of its file is started instead
// (internal/shim/stage), since krmcat takes longer to initialise than a step takes
// (docs/adr/0014, docs/adr/0027).
//
// What a step does with resources never goes in, nor anything that needs more than a few
// packages of the standard library: every step waits for their initialisation.
package step
