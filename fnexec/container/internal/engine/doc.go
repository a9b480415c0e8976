// Package engine answers: how does a container engine run an image?
//
// It hides docker, podman and nerdctl: the options that give a container no more than was granted,
// pulling and comparing images, and what the messages of the engines mean.
//
// Unpacking an image never goes in, nor does the choice between a container engine and an engine of
// package sandbox.
package engine
