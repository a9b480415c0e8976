// Command join answers: how does krmcat carry a program without writing it to a file?
//
// It adds the segments of one ELF executable to another, so that one file holds both, and neither
// is loaded if the other one runs. The first executable chooses by the name of the process, before
// anything is initialised (entry_linux_amd64.s). The reasons, and the alternatives, are in
// docs/adr/0027.
//
// Nothing specific to krmcat goes in: it joins two executables whose addresses do not overlap.
package main
