// Package problem answers: what went wrong at a place?
//
// It has the errors of package registry, which its rooms return too, and hides what each means to
// the user.
//
// What a server sent, and how to read it, never goes in.
package problem
