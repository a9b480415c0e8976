// Command program answers: which program verifies signatures, if krmcat does not?
//
// It contains only package judge: it responds on stdout to requests on stdin. Before the first
// request it drops all access that it does not need. The Makefile builds it, and command join makes
// it a part of krmcat's file (docs/adr/0027).
//
// Decisions about signatures never go in: they are in package judge.
package main
