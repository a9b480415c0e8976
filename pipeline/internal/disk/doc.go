// Package disk answers: what is in a file of a target, and may it be read?
//
// It reads plain files of the file system of a render, up to a limit, and applies the load
// restrictor. It hides devices, pipes and links.
//
// What the text of a file means never goes in.
package disk
