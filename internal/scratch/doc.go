// Package scratch answers: where does a process keep what is incomplete, or needed only while it
// runs?
//
// It makes directories below the system's directory for temporary files. A killed process leaves
// its directory behind, and the next process that makes one removes it. A lock tells used
// directories from abandoned ones, since the system releases the locks of a dead process. The
// directories of a user are in one directory that belongs to this user alone, so that a search need
// not read all of /tmp, and no link of another user is followed. A file that must be complete is
// written beside its path, and renamed.
//
// What is worth keeping never goes in: it belongs into the cache of krmcat, or at a path that the
// caller names.
package scratch
