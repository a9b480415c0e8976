// Package fnconfig answers: which function does a document ask for, and which files does it name?
//
// It reads functionConfigs: the function's identity, a runtime that the config names itself, the
// kinds that kustomize has built in, with their fields, and the Step that becomes of a config. It
// hides in which fields paths stand, and how overrides are merged into a config by a schema.
//
// Which list a config stands in never goes in, nor the order in which functions run.
package fnconfig
