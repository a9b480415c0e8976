// Package container answers: how is a function run that is a container image?
//
// Not yet: it reads where catalogs name images, pins them to their digest for those who
// publish catalogs, and refuses to run them with an error of its own type, so that a
// function that needs an engine is refused and not skipped.
//
// Talking to a registry never goes in.
package container
