// Package openapi answers: what shape must a functionConfig have?
//
// It checks functionConfigs against the schemas that catalogs carry, and is the one
// door to kyaml's process-wide schema: no other package imports kyaml/openapi.
//
// Knowledge of catalogs, targets or functions never goes in.
package openapi
