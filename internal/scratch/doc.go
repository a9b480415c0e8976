// Package scratch answers: where does a process keep what it needs only while it runs?
//
// In a directory of its own below the system's place for temporary files. A process that
// is killed leaves its directory behind, and the next one that makes such a directory
// removes it: a lock, which the system takes away from who is dead, tells what is left
// from what is used. The directories of one user stand in one that is this user's alone, so
// that nobody has to read all of /tmp to find them, and no link of another's is followed.
//
// What is worth keeping never goes in: that is for krmcat's cache.
package scratch
