// Package install answers: which command installs a package on this machine?
//
// It hides how a system tells which one it is, and what its package manager is called. It runs
// nothing.
//
// Which package is needed, and what for, never goes in.
package install
