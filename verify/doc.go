// Package verify answers: may this content be used?
//
// It is the only place that can say yes. Its answer, Trusted, is a key: no other
// package can make one, its zero value opens nothing, and a function runtime
// cannot be loaded without it. Whatever the method says, bytes that differ from
// what was promised (a pinned reference, a catalog's sha256) are refused here.
//
// I/O of its own, policy defaults taken from the environment, and knowledge of
// how functions run never go in.
package verify
