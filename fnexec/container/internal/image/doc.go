// Package image answers: how does a container image become a root file system on this machine?
//
// It hides how layers are fetched, verified, unpacked and applied, how an unpacked image is
// cached for all processes of a user, and how changes of a cached image are found. An image is
// always named by its digest.
//
// Starting a process never goes in, nor does calling a container engine.
package image
