// Package testmain answers: how does a program start that compares krmcat with its neighbours?
//
// It ends the program on an interrupt, makes the paths of other programs absolute, and keeps a
// directory for as long as the program runs.
//
// What is compared, and how, never goes in.
package testmain
