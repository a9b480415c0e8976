// Command program answers: which program judges signatures, where that is not krmcat?
//
// It is package judge, and nothing else: it answers on stdout what it is asked on stdin, and
// takes from itself all else that it could reach before it reads the first question. The
// Makefile builds it, and command join makes it a part of krmcat (docs/adr/0027).
//
// Nothing goes in that decides about a signature: package judge does.
package main
