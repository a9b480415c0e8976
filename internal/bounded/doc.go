// Package bounded answers: how much is kept of what may never end?
//
// It reads no more than it was told to, and keeps no more of what is written. What is over is an
// error to who reads, and lost to who writes.
//
// How much is enough never goes in: the callers know.
package bounded
