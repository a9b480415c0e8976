// Package openapi answers: what does a schema say?
//
// There are two kinds of schema. kyaml has one for the whole process, and keeps what one
// kustomization sets for the next. Use gives it to one build at a time, and resets it if necessary.
// No other package imports kyaml/openapi. The other schema is that of a function for its own
// config, and is not trusted. Merge lays a patch over such a config. The package hides which words
// of the schema control how lists merge.
//
// Knowledge of catalogs, targets or functions never goes in.
package openapi
