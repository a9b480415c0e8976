// Package leave answers: when may the process be ended although a command has not?
//
// A command is told by its context that it is to end, and mostly does so at once. What takes
// no context (kustomize, a reader or printer of YAML, a pipe that nobody reads) may take
// minutes. The process is then ended from another goroutine, but not while something outside
// of it is half done: that is what is held. The way to say so is the context's, since what
// holds and what ends the process stand far apart.
//
// How a signal is received never goes in, nor what is said of it.
package leave
