// Package store answers: what of a place is on this machine's disk already?
//
// It hides the cache of blobs, which any number of processes share and which checks what it gives
// by its digest, and how a plain file is opened and read that somebody else may exchange.
//
// What a file or a blob means never goes in, nor does asking another machine.
package store
