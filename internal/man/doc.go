// Command man answers: what does the manual page of krmcat say?
//
// It writes the help of every command of krmcat to stdout as roff: `make man`. It hides roff.
//
// Only the help goes in, so that the page cannot differ from the program.
package main
