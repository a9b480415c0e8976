// Package exec answers: how is a function run that is a program of this host's?
//
// It reads every shape in which catalogs and functionConfigs name programs, chooses the
// platform's, takes a program out of an archive, lays verified bytes down under their
// digest for the next time, and starts them through the grant.
//
// Trust and permission never go in: they come as verify.Trusted and sandbox.Grant. What is
// hashed is what is started: bytes that sandbox holds, and not a file.
package exec
