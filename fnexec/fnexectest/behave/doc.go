// Package behave answers: what does a function of the suite do?
//
// It is separate from fnexectest so that such a function can be a small program: it links
// nothing else of krmcat, and nothing for tests.
//
// What is expected of a function never goes in.
package behave
