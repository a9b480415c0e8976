// Package behave answers: what does a function of the suite do?
//
// It is apart from fnexectest so that a program of a few megabytes can be such a function:
// nothing of krmcat, and nothing for tests, is linked into it.
//
// What is expected of a function never goes in.
package behave
