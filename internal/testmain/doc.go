// Package testmain answers: how does a program start that compares krmcat with other programs?
//
// It ends the program on an interrupt, makes the paths of other programs absolute, and removes the
// program's directory at its end.
//
// What is compared, and how, never goes in.
package testmain
