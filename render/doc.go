// Package render answers: how does a directory become resources?
//
// It calls the other packages in phases, one file for each phase:
//
//	dir ─load→ []Step ─bind→ []bound ─trust→ []trusted ─ready→ []loaded ─run→ items
//
// No phase calls an earlier one. Everything that may be refused is refused before anything runs, as
// far as possible without the network: bind and trust process the Steps in two rounds, see approve.
// It hides what each phase needs; callers get a plan, or resources.
//
// How to read a place, verify a signature, run a function or build a kustomization never goes in,
// nor do flags, output for people and the environment.
package render
