// Package files answers: in which file does a resource stand?
//
// It reads the resources of a directory with their comments, and says what its files have to become
// for other resources. Bytes survive: a document whose value and comments are the same keeps them,
// and one that differs is edited in its own text. A change is written whole or not at all, also
// when the process is killed. The package hides how documents are separated, line ends, ignored
// files, and the journal of a change that is being written.
//
// What a resource means never goes in, nor who changes it: functions, packages and pipelines are
// other questions.
package files
