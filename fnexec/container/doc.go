// Package container answers: how is a function run that is a container image?
//
// It hides what runs it: this machine's own means, for which an image's layers become a root
// file system in the cache and the sandbox confines a process in it, or the program of an
// engine (docker, podman, nerdctl), which is told to give a function no more than was
// granted. What is there is found out once. An image is always named by its digest.
//
// Talking to a registry never goes in, nor does starting a process.
package container
