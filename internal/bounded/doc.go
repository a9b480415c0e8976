// Package bounded answers: how much is kept of a stream that may be endless?
//
// It reads no more than a limit, and keeps no more of what is written. More is an error for a
// reader, and lost for a writer.
//
// The limits never go in: the callers know them.
package bounded
