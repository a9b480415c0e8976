// Package filetest answers, for tests only: how do the files of an archive, and programs, get onto
// the disk?
//
// It hides how links and programs are written in a txtar archive, and how a program that was just
// written can be started safely.
//
// No package of the krmcat program imports it.
package filetest
