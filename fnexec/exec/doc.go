// Package exec answers: how is a function run that is a program of this host's?
//
// It reads every shape in which catalogs and functionConfigs name programs, chooses the
// platform's, takes a program out of an archive, lays verified bytes down under their
// digest where they can be executed, and starts them through the grant.
//
// Trust and permission never go in: they come as verify.Trusted and sandbox.Grant. The
// file that is executed is hashed immediately before it is handed out, in a directory
// that only the user can write to; whoever can write there as the user can replace it
// between the hash and the start.
package exec
