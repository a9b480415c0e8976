// Package refusal answers: was this refused for safety, or did something go wrong?
//
// It marks errors whose types say nothing of it, without a change to their words: what was read
// is refused as it is, or leads to where it may not. It hides how the mark is carried.
//
// What to refuse never goes in, nor which exit code a refusal has.
package refusal
