package catalog

import (
	"cmp"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// APIVersion is the apiVersion of catalogs and definitions: KEP-2906.
const APIVersion = "config.kubernetes.io/v1alpha1"

// The kinds that Decode reads. KEP-2906 says Catalog in its examples and KRMFunctionCatalog in its
// schema. They mean the same.
const (
	KindCatalog            = "Catalog"
	KindKRMFunctionCatalog = "KRMFunctionCatalog"
	KindDefinition         = "KRMFunctionDefinition"
)

// FunctionID identifies a function by the group, version and kind of its functionConfigs.
type FunctionID struct{ Group, Version, Kind string }

// String returns the id as group/version/kind, without the empty parts.
func (id FunctionID) String() string {
	parts := make([]string, 0, 3)
	for _, p := range []string{id.Group, id.Version, id.Kind} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "/")
}

// APIVersion returns the id's apiVersion: group/version, or the version alone.
func (id FunctionID) APIVersion() string {
	if id.Group == "" {
		return id.Version
	}
	return id.Group + "/" + id.Version
}

// IDOf makes an id of an apiVersion and a kind. An apiVersion without a slash is a version of the
// group without a name.
func IDOf(apiVersion, kind string) FunctionID {
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group, version = "", apiVersion
	}
	return FunctionID{Group: group, Version: version, Kind: kind}
}

// Function is one version of a function of a catalog. Its nodes belong to the catalog and may be
// shared by versions: they must not be changed.
type Function struct {
	ID          FunctionID
	Name        string      // of its entry, "" if none is written: see Called
	Runtimes    []Runtime   // in the order written; those of the version replace those of the function
	Replaces    []Replaced  // images that the function replaces; those of the version replace those of the function
	Schema      *yaml.RNode // openAPIV3Schema, nil for none
	Idempotent  *bool       // nil if the catalog does not say
	Description string
	Publisher   string
	Home        string
	Usage       string
	Examples    []string
	License     string
	Maintainers []string // those of the version, or else of the function
	Tags        []string
	Line        int // line of the version, 1-based; 0 if unknown

	entry entry // of the function of the version
}

// entry is where a catalog has a function.
type entry struct{ number, line int }

// Called returns the name of the function: the one that is written, or else the kind in kebab case.
func (f *Function) Called() string { return cmp.Or(f.Name, DefaultName(f.ID.Kind)) }

// Runtime is one way to run a function.
type Runtime struct {
	Kind string      // container, exec, starlark, …
	Spec *yaml.RNode // any YAML: this package does not read it
	Line int         // line of its key, 1-based; 0 if unknown
}

// Catalog lists functions. It is a Resolver, and safe for concurrent use while it is not changed.
// Decode makes a Catalog with an index. A literal has none and is searched.
type Catalog struct {
	Kind        string // as written: Catalog, KRMFunctionCatalog or KRMFunctionDefinition
	Name        string // metadata.name
	Labels      map[string]string
	Annotations map[string]string
	Functions   []Function // one for each version of each function, in the order written
	Source      string     // the name that Decode was given, for errors

	index *index
}

// FunctionGroup is a function with all of its versions.
type FunctionGroup struct {
	Group, Kind string
	Name        string     // as Function.Called
	Versions    []Function // in the order written, duplicates included
}

// Groups returns the functions by group, kind and name, in the order of their first entries.
func (c *Catalog) Groups() []FunctionGroup {
	var groups []FunctionGroup
	at := make(map[[3]string]int)
	for _, f := range c.Functions {
		g := FunctionGroup{Group: f.ID.Group, Kind: f.ID.Kind, Name: f.Called()}
		key := [3]string{g.Group, g.Kind, g.Name}
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, g)
		}
		groups[i].Versions = append(groups[i].Versions, f)
	}
	return groups
}
