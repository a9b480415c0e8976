// Package container answers: how is a function run that is a container image?
//
// It hides what runs the image: an engine of package sandbox, which confines a process in the
// image's root file system (internal/image unpacks it into the cache), or a container engine
// (internal/engine), which is told to give a container no more than was granted. It reads the
// spec of a function, and finds out once which of both works here.
//
// Talking to a registry never goes in, nor does starting a process.
package container
