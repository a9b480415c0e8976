// Command join answers: how does krmcat carry a program without writing it anywhere?
//
// It adds the segments of one ELF executable to another, so that both stand in one file and
// neither is loaded when the other one runs. The first decides which of the two a process is,
// by its name, before anything is initialised (entry_linux_amd64.s). The reasons, and what it
// is compared with, are in docs/adr/0027.
//
// Nothing goes in that is of krmcat: it knows two executables whose addresses do not meet.
package main
