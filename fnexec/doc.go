// Package fnexec answers: how is one function run, once?
//
// Call does, for all runtimes, what the KRM Functions Specification and its two implementations
// (kyaml and kpt) require of an orchestrator: the wire format, ids, annotations, comments,
// results, exit codes and limits. Each runtime is a package below this one. A runtime handles
// bytes only, and cannot be loaded without the two keys, verify.Trusted and sandbox.Grant.
//
// Which function is run, in which order, and why it is allowed to run, never go in.
package fnexec
