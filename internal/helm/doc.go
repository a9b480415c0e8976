// Package helm answers: what does krmcat do when kustomize starts it as helm?
//
// kustomize starts helm without a context, and would leave it running when a render ends. So krmcat
// has kustomize start krmcat itself under another name. That process reports its process group to
// the render, which listens on a socket, and then executes helm. If krmcat was built with make for
// linux/amd64, a small part of its file is started instead (internal/shim/stage), since krmcat
// takes longer to initialise (docs/adr/0026, docs/adr/0027).
//
// The package never looks at helm's arguments, and imports only a few packages of the standard
// library.
package helm
