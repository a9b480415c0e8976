// Package fnexec answers: how is one function run, once?
//
// Call holds, once for all runtimes, what the KRM functions specification and its two
// implementations ask of an orchestrator: the wire format, ids, annotations, comments,
// results, exit codes, limits. The ways of running are its subpackages; each sees
// bytes and nothing else, and cannot be loaded without the two keys, verify.Trusted and
// sandbox.Grant.
//
// Which function is run, in which order, and why it may be, never go in.
package fnexec
