// Package manifest answers: what does a manifest or an index say, and how is one made?
//
// It hides Docker's media types beside OCI's, and what two readers could read differently.
//
// Where a manifest is stored, and who vouches for it, never goes in.
package manifest
