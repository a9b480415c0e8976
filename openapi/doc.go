// Package openapi answers: what does a schema say?
//
// There are two. kyaml keeps one schema for the whole process, and what one kustomization
// sets it for the next: Use is the one door to it, hides when it has to be reset, and lets
// one build at a time have it. No other package imports kyaml/openapi. The other is the
// one that a function brings for its own config, and which a stranger wrote: Merge lays a
// patch over such a config, and hides which words of the schema tell how its lists merge.
//
// Knowledge of catalogs, targets or functions never goes in.
package openapi
