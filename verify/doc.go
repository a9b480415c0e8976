// Package verify answers: may this content be used?
//
// It is the only package that can accept content. Its result, Trusted, is a key: no other package
// can make one, its zero value gives no access, and a function runtime cannot be loaded without it.
// Content that differs from a promised digest (a pinned reference, a catalog's sha256) is refused,
// whatever the method says.
//
// I/O of its own, policy defaults from the environment, and knowledge of how functions run never go
// in.
package verify
