// Package starlark answers: how is a function run that is a Starlark script?
//
// It finds the script in every shape in which catalogs and functionConfigs give one,
// compiles it and what it loads once, and runs it in this process on the resources
// themselves: ctx.resource_list, print and log, and modules that reach neither network
// nor disk nor clock. What the script does not change is printed as it was.
//
// ctx.open_api is an empty dict: kyaml hands over the whole of Kubernetes' schema, which
// takes longer to load than most scripts take to run. A script that reads
// ctx.open_api["definitions"] fails, and says which key is missing.
//
// Reach of any kind never goes in. Steps, recursion and the size of what is returned are
// bounded, and ctx ends a script; a single call of a builtin on huge values is not
// interrupted, it is left behind. Memory is bounded as far as one process can: the heap
// is looked at every few steps, and what makes large values of small ones (repetition,
// concatenation, formatting, printing) is measured before it is done. A builtin that is
// none of these may still take a few gigabytes between two looks, from values that are
// themselves within bounds, and where the machine has not as much, the process ends. Only
// a process of its own could keep a script that is out to do that from taking us along.
package starlark
