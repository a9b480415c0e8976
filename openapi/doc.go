// Package openapi answers: which schema does kyaml use while a target is built?
//
// kyaml keeps one schema for the whole process, and what one kustomization sets it for the
// next. This package is the one door to it: it hides when it has to be reset, and lets one
// build at a time have it. No other package imports kyaml/openapi.
//
// Knowledge of catalogs, targets or functions never goes in.
package openapi
