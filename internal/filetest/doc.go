// Package filetest answers, for tests only: how do the files of an archive get onto the
// disk?
//
// It hides how links and programs are written down in a txtar archive.
//
// Nothing that a command of krmcat runs imports it.
package filetest
