// Package yamldoc answers: what does a YAML document say, and where?
//
// It reads text that is not trusted. Its trees are safe to walk: they have no aliases, no merge
// keys, no repeated keys, and bounded depth and size. It reads values field by field, and refuses
// unknown names, wrong types and repetitions. An error has a path, a line, and the name that was
// probably meant. The package hides the panics and line numbers of the parser, and how nodes are
// walked.
//
// The meaning of documents never goes in, nor limits on the size of a file: the caller who reads
// the bytes sets them.
package yamldoc
