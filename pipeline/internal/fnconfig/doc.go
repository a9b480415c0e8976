// Package fnconfig answers: which function does a document declare, and which files does it name?
//
// It reads functionConfigs: the function's identity, a runtime that the config names itself, and
// the fields of kustomize's builtin kinds. It makes Steps of configs. It hides which fields are
// paths, and how overrides are merged into a config by a schema.
//
// Which list has a config never goes in, nor the order in which functions run.
package fnconfig
