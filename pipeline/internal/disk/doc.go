// Package disk answers: what stands in a file of a target, and may it be read?
//
// It reads plain files through the file system that a render was given, up to a limit, and tells
// where the load restrictor keeps files. It hides what a device, a pipe or a link would do to
// who reads it.
//
// What the text of a file means never goes in.
package disk
