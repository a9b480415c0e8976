// Package near answers: how near to this machine is a host, by its name or its address alone?
//
// It hides which addresses are of this machine, of its neighbours and of its cloud, in all the forms in
// which they can be written or translated.
//
// Asking a name server never goes in, nor does connecting to anything.
package near
