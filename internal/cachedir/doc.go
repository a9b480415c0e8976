// Package cachedir answers: what is in krmcat's cache, and what of it has not been used for
// long?
//
// Everything there lies under its digest, <cache>/<kind>/sha256/<hex>, a file or a directory,
// and whoever uses an entry notes so. It hides how that is kept, and how an entry goes away
// as a whole while others use the cache.
//
// What an entry contains, and whether it is what its name says, never goes in: the packages
// that put it there know.
package cachedir
