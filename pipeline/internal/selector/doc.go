// Package selector answers: which resources does a step see?
//
// It has the selectors of kpt's pipelines: it decodes them with positions, and matches resources
// by apiVersion, kind, name, namespace, labels and annotations. It hides how the lists of selectors
// and of exclusions are combined.
//
// Files, flags and functions never go in: the caller knows where selectors are written, and what
// becomes of the resources that they do not match.
package selector
