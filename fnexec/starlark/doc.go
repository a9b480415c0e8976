// Package starlark answers: how is a function run that is a Starlark script?
//
// It finds the script in every shape in which catalogs and functionConfigs give one,
// compiles it and what it loads once, and runs it in this process on the resources
// themselves: ctx.resource_list, print and log, and modules that reach neither network
// nor disk nor clock. What the script does not change is printed as it was.
//
// Reach of any kind never goes in. Steps, recursion, the heap's growth and the size of
// what is returned are bounded, and ctx ends a script; a single call of a builtin on
// huge values is not interrupted, it is left behind.
package starlark
