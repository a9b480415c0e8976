// Package cachedir answers: what is in the cache of krmcat, and what has been unused for long?
//
// Every entry is a file or a directory named by its digest: <cache>/<kind>/sha256/<hex>. Who uses
// an entry records it. The package hides how that is recorded, and how an entry is removed as a
// whole while others use the cache.
//
// The content of entries never goes in, nor whether it matches their digest: the packages that add
// entries know.
package cachedir
