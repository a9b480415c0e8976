// Package helm answers: what does krmcat do when kustomize starts it as helm?
//
// kustomize starts helm without a context, and would leave it running when a render ends. So it is
// told to start krmcat in its place, under another name. That process tells the listening render its
// process group, and becomes helm. If krmcat was built with make for linux/amd64, a small part of
// its file is started instead (internal/shim/stage), since krmcat takes longer to initialise
// (docs/adr/0026, docs/adr/0027).
//
// What helm is asked for never goes in, nor anything that needs more than a few packages of the
// standard library.
package helm
