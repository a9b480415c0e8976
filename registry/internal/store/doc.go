// Package store answers: which content is on this machine's disk already?
//
// It hides the cache of blobs, which several processes share and which checks the digest of what it
// returns, and how to open, read and hash a plain file that another process may replace.
//
// The meaning of a file or blob never goes in, nor do requests to another machine.
package store
