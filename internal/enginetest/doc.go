// Package enginetest answers: where do the images and the engines of a test come from?
//
// Nothing is pulled from outside. Images are built here from files, a small function or a shell,
// and pushed to the registry of the test. Docker, Podman and Nerdctl return how to call the real
// engines of this machine. If an engine is missing the test is skipped. In continuous integration
// (CI is set) it fails, because all engines have to exist there.
//
// What is expected of an engine or an image never goes in.
package enginetest
