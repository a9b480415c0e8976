// Package reference answers: which place does a reference name, and which places does a pattern
// match?
//
// It parses references (oci://…, oci-layout://…, https://…, a file) and patterns of them, and
// writes them in the forms that are shown, requested and compared. It hides the different spellings
// of one place.
//
// Access to a disk, a network or a name server never goes in.
package reference
