// Package catalog answers: which function implements an apiVersion and kind?
//
// It reads Catalogs, KRMFunctionCatalogs and KRMFunctionDefinitions (KEP-2906) in
// every shape in which they are written, and hides those shapes: outside, there are
// functions with runtimes. A runtime's own spec stays unread, so that a new runtime
// does not touch this package.
//
// The network, the registry and the question of trust never go in.
package catalog
