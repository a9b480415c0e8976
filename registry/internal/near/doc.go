// Package near answers: how near to this machine is a host, by its name or its address alone?
//
// It hides which addresses belong to this machine, its private networks and its cloud, in all forms
// in which they can be written or translated.
//
// Queries of a name server and connections never go in.
package near
