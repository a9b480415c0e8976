// Package image answers: how does a container image become a root file system on this machine?
//
// It hides how layers are fetched, checked, unpacked and applied, how an unpacked image is kept
// in the cache for all processes of a user, and how it is found out whether what lies there is
// still what was unpacked. An image is always named by its digest.
//
// Starting a process never goes in, nor does asking an engine.
package image
