// Package engine answers: how does the program of a container engine run an image?
//
// It hides docker, podman and nerdctl: the options that give a container no more than was
// granted, the pulling and comparing of images, and what the messages of the engines mean.
//
// Unpacking an image never goes in, nor does choosing between an engine and this machine's own
// means.
package engine
