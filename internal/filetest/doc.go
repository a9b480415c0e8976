// Package filetest answers, for tests only: how do the files of an archive, and programs, get
// onto the disk?
//
// It hides how links and programs are written down in a txtar archive, and what keeps a
// program that was just written from being started.
//
// Nothing that a command of krmcat runs imports it.
package filetest
