// Package exec answers: how is a function run that is a program of this host?
//
// It reads every shape in which catalogs and functionConfigs name programs, chooses the entry
// for the platform, extracts a program from an archive, caches verified programs by digest, and
// starts them through the grant.
//
// Trust and permission never go in: they arrive as verify.Trusted and sandbox.Grant. What was
// hashed is what is started: content that package sandbox holds in memory, and not a file.
package exec
