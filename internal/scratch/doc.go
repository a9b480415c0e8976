// Package scratch answers: where does a process keep what is not whole yet, or needed only while it
// runs?
//
// A directory is made below the system's place for temporary files. A process that
// is killed leaves its directory behind, and the next one that makes such a directory
// removes it: a lock, which the system takes away from who is dead, tells what is left
// from what is used. The directories of one user stand in one that is this user's alone, so
// that nobody has to read all of /tmp to find them, and no link of another's is followed. A file that
// is to be whole is written beside its place, and gets its name by rename.
//
// What is worth keeping never goes in: that is for krmcat's cache, and for who names the place.
package scratch
