// Package safeyaml answers: how is YAML read that a stranger wrote?
//
// What it returns can be walked by anybody: there are no aliases and no merge keys any
// more, no key stands twice, nothing is nested without end, and nothing has grown beyond
// bounds. It hides the parser's ways of counting lines and its panics.
//
// What the documents mean never goes in, nor limits on the size of a file: whoever reads
// the bytes sees to that.
package safeyaml
