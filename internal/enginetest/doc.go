// Package enginetest answers: where do the images and the engines of a test come from?
//
// Nothing is pulled from outside: images are built here from files, a small function or a
// shell, and pushed to the registry of the test. Docker, Podman and Nerdctl say how the real engines
// of this machine are called. Where one is missing the test is skipped, and fails in
// continuous integration (CI is set), where all have to be there.
//
// What is expected of an engine or an image never goes in.
package enginetest
