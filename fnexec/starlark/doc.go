// Package starlark answers: how is a function run that is a Starlark script?
//
// It finds the script in every shape in which catalogs and functionConfigs provide one, compiles
// it and what it loads once, and runs it inside krmcat on the parsed resources. The script gets
// ctx.resource_list, print and log, and modules without access to network, disk and clock. What
// it does not change is printed as it was.
//
// ctx.open_api is an empty dict. kyaml provides the whole schema of Kubernetes there, which
// takes longer to load than most scripts run. A script that reads ctx.open_api["definitions"]
// fails with the name of the key.
//
// Access to anything outside the script never goes in. Steps, recursion and the size of the
// output are bounded, and ctx ends a script. A single call of a builtin is not interrupted but
// left behind. Memory is bounded as far as one process can do that: the heap is measured every
// few steps, and operations that make large values (repetition, concatenation, formatting,
// printing) are measured before. Other builtins may take a few gigabytes between two
// measurements, and krmcat ends if the machine does not have them. Only a process of its own for
// each script could prevent that.
package starlark
