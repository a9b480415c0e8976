// Package starlark answers: how is a function run that is a Starlark script?
//
// It finds the script in every shape in which catalogs and functionConfigs provide one, compiles
// it and what it loads once, and runs it inside krmcat on the parsed resources. The script gets
// ctx.resource_list, print and log, and modules without access to network, disk and clock. They
// answer as those of starlib 0.5 do, which kpt's function has; testdata/starlib has its answers.
// What a script does not change is printed as it was.
//
// ctx.open_api has no schema. kyaml provides that of Kubernetes there, which is one for the whole
// process, and which a Kustomization may have changed. A script that reads
// ctx.open_api["definitions"] fails with an error that says so.
//
// Access to anything outside the script never goes in. Steps, recursion and the size of the
// output are bounded, and ctx ends a script. A single call of a builtin is not interrupted but
// left behind. Memory is bounded as far as one process can do that: the heap is measured every
// few steps, and operations that make large values (repetition, concatenation, formatting,
// printing) are measured before. What becomes a key, or is frozen or printed, is bounded in depth,
// since the library recurses. Other builtins may take a few gigabytes between two measurements, and
// krmcat ends if the machine does not have them. Comparing lists of lists of lists can take longer
// than a call may take, and goes on until krmcat ends. Only a process of its own for each script
// could prevent that.
package starlark
