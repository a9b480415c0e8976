// Package shared answers: who does the work that several callers ask for at the same time?
//
// One of them does, and the others wait for its answer, each no longer than its own context lasts. The
// package hides how they find each other, and that another goes on where the one who works gives up
// or fails.
//
// What the work is never goes in, nor does keeping an answer longer than the process lives.
package shared
