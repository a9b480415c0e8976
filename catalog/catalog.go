package catalog

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// APIVersion is the apiVersion that catalogs and definitions are written with: KEP-2906.
const APIVersion = "config.kubernetes.io/v1alpha1"

// The kinds that Decode reads. KEP-2906 says Catalog in its examples and
// KRMFunctionCatalog in its schema; they mean the same.
const (
	KindCatalog            = "Catalog"
	KindKRMFunctionCatalog = "KRMFunctionCatalog"
	KindDefinition         = "KRMFunctionDefinition"
)

// FunctionID names what a function implements: the group, version and kind of its
// functionConfigs.
type FunctionID struct{ Group, Version, Kind string }

// String writes the id as group/version/kind, without the empty parts.
func (id FunctionID) String() string {
	parts := make([]string, 0, 3)
	for _, p := range []string{id.Group, id.Version, id.Kind} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "/")
}

// APIVersion is the id's apiVersion: group/version, or the version alone.
func (id FunctionID) APIVersion() string {
	if id.Group == "" {
		return id.Version
	}
	return id.Group + "/" + id.Version
}

// IDOf splits an apiVersion and a kind. An apiVersion without a slash is a version of
// the group without a name.
func IDOf(apiVersion, kind string) FunctionID {
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group, version = "", apiVersion
	}
	return FunctionID{Group: group, Version: version, Kind: kind}
}

// Function is one version of a function of a catalog. Its nodes belong to the catalog,
// and versions may share them: they are for reading.
type Function struct {
	ID          FunctionID
	Runtimes    []Runtime   // in the order written; the version's win over the function's
	Schema      *yaml.RNode // openAPIV3Schema, nil for none
	Idempotent  *bool       // nil where the catalog does not say
	Description string
	Publisher   string
	Home        string
	Usage       string
	Examples    []string
	License     string
	Maintainers []string // the version's, else the function's
	Tags        []string
	Line        int // where the version is written, 1-based; 0 where not known

	entry int // the line of the function that the version stands in
}

// Runtime is one way of running a function.
type Runtime struct {
	Kind string      // container, exec, starlark, …
	Spec *yaml.RNode // the way's own spec, unread: any YAML
	Line int         // of its key, 1-based; 0 where not known
}

// Catalog lists functions. It is a Resolver, and safe for concurrent use as long as
// nobody changes it. Decode makes one that resolves through an index; one that is
// written out as a literal is searched.
type Catalog struct {
	Kind        string // as written: Catalog, KRMFunctionCatalog or KRMFunctionDefinition
	Name        string // metadata.name
	Labels      map[string]string
	Annotations map[string]string
	Functions   []Function // one for each version of each function, in the order written
	Source      string     // the name that Decode was given: what a NotFoundError calls it

	index *index
}

// FunctionGroup is a function with all of its versions.
type FunctionGroup struct {
	Group, Kind string
	Versions    []Function // in the order written, duplicates included
}

// Groups lists the functions by group and kind, each at the place where it is first
// written.
func (c *Catalog) Groups() []FunctionGroup {
	var groups []FunctionGroup
	at := make(map[groupKind]int)
	for _, f := range c.Functions {
		key := groupKind{f.ID.Group, f.ID.Kind}
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, FunctionGroup{Group: f.ID.Group, Kind: f.ID.Kind})
		}
		groups[i].Versions = append(groups[i].Versions, f)
	}
	return groups
}
