// Package spell answers: which known word did a person mean?
//
// It hides how the distance between two spellings is measured, and how far is too far.
//
// What the words are for never goes in.
package spell
