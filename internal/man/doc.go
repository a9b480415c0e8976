// Command man answers: what does the manual page of krmcat say?
//
// It writes what krmcat's help says of every command as roff, to stdout: make man. It hides roff.
//
// Nothing goes in that the help does not say: the page cannot differ from the program.
package main
