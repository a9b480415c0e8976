// Package spell answers: which known word did a person mean?
//
// It hides how the distance between two spellings is measured, and which distance is too large.
//
// The purpose of the words never goes in.
package spell
