// Package render answers: what happens between a directory and the resources that come
// out of it?
//
// It is the line through the other packages, one phase and one file after the other:
//
//	dir ─load→ []Step ─bind→ []bound ─trust→ []trusted ─ready→ []loaded ─run→ items
//
// No phase calls an earlier one, and everything that may be refused is refused before
// anything runs, as far as possible before the network is asked for anything: bind and trust
// go over the Steps in two rounds, see approve. It hides which phase needs what; a caller sees a plan, or resources.
//
// How a place is read, a signature checked, a function run or a kustomization built never
// goes in, nor flags, printing for people and the environment.
package render
