// Package leave answers: when may the process be ended before its command has ended?
//
// The context of a command tells it to end, and it mostly does so at once. Code that takes no
// context (kustomize, a reader or printer of YAML, a pipe that nobody reads) may take minutes.
// Another goroutine ends the process then, but not while an operation outside of the process is
// incomplete: such an operation is held. The context carries the Leaver, since the code that holds
// and the code that ends the process are far apart.
//
// How a signal is received never goes in, nor messages about it.
package leave
