// Package reference answers: which place does a reference name, and which places a pattern?
//
// It reads places (oci://…, oci-layout://…, https://…, a file) and patterns of them as people write them,
// writes them in the spellings in which they are shown, asked for and compared, and hides in how many
// ways one place can be spelled.
//
// Looking at a disk, a network or a name server never goes in.
package reference
