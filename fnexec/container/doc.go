// Package container answers: how is a function run that is a container image?
//
// It hides what runs it: this machine's own means, for which an image becomes a root file system in
// the cache (internal/image) and the sandbox confines a process in it, or the program of an engine
// (internal/engine), which is told to give a function no more than was granted. It reads what a
// function says of its image, and finds out once which of both works here.
//
// Talking to a registry never goes in, nor does starting a process.
package container
