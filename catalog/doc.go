// Package catalog answers: which function implements an apiVersion and kind, has a name, or
// replaces an image?
//
// It reads Catalogs, KRMFunctionCatalogs and KRMFunctionDefinitions (KEP-2906) in all of their
// forms, and returns functions with runtimes. It does not read the spec of a runtime, so that a new
// runtime does not change this package.
//
// Network access, registries and trust never go in.
package catalog
