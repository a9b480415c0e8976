package catalog

import (
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// entry is one function as it is written, before it becomes a Function per version.
type entry struct {
	shared   Function // what all versions have in common
	kind     *yaml.Node
	names    string // names.kind
	bare     string // kind
	versions *yaml.Node
	runtime  *yaml.Node
}

func functionFields() []string {
	return []string{"group", "names", "kind", "description", "publisher", "versions", "runtime", "home", "maintainers", "tags"}
}

// function reads one entry of krmFunctions, or the spec of a definition.
func (d *decoder) function(n *yaml.Node, p *path) {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, p, "mapping")
		return
	}
	var e entry
	e.shared.entry = n.Line
	d.mapping(n, p, functionFields, func(k, v *yaml.Node) bool { return d.functionField(&e, k, v, p.field(k.Value)) })
	d.kind(n, p, &e)
	if e.shared.ID.Group == "" {
		d.missing(n, p, "group")
	}
	if e.runtime != nil {
		e.shared.Runtimes = d.runtimes(e.runtime, p.field("runtime"), e.shared.ID)
	}
	d.versions(n, p, &e)
}

func (d *decoder) functionField(e *entry, k, v *yaml.Node, p *path) bool {
	f := &e.shared
	switch k.Value {
	case "group":
		f.ID.Group = d.name(v, p)
	case "names":
		d.names(v, p, e)
	case "kind":
		e.bare, e.kind = d.name(v, p), v
	case "description":
		f.Description = d.text(v, p)
	case "publisher":
		f.Publisher = d.text(v, p)
	case "versions":
		e.versions = v
	case "runtime":
		e.runtime = v
	case "home":
		f.Home = d.text(v, p)
	case "maintainers":
		f.Maintainers = d.texts(v, p)
	case "tags":
		f.Tags = d.texts(v, p)
	default:
		return false
	}
	return true
}

func nameFields() []string { return []string{"kind"} }

func (d *decoder) names(n *yaml.Node, p *path, e *entry) {
	if isNull(n) {
		return
	}
	d.mapping(n, p, nameFields, func(k, v *yaml.Node) bool {
		if k.Value != "kind" {
			return false
		}
		e.names = d.name(v, p.field(k.Value))
		return true
	})
}

// kind settles between names.kind and a bare kind. KEP-2906 has both.
func (d *decoder) kind(n *yaml.Node, p *path, e *entry) {
	switch {
	case e.names != "" && e.bare != "" && e.names != e.bare:
		d.ps.add(e.kind.Line, "%skind is %s, but names.kind is %s", p.in(), quote(e.bare), quote(e.names))
	case e.names == "" && e.bare == "":
		if !d.complained(n, "kind") && !d.complained(value(n, "names"), "kind") && !d.complained(n, "names") {
			d.ps.add(n.Line, "%snames.kind is missing", p.in())
		}
	}
	e.shared.ID.Kind = e.names
	if e.names == "" {
		e.shared.ID.Kind = e.bare
	}
}

// missing says that a field is, unless something was said about it already.
func (d *decoder) missing(n *yaml.Node, p *path, name string) {
	if !d.complained(n, name) {
		d.ps.add(n.Line, "%s%s is missing", p.in(), name)
	}
}

// complained reports whether a field is there misspelt, or with a value that was refused
// for its type, so that it is not called missing as well.
func (d *decoder) complained(n *yaml.Node, name string) bool {
	v := value(n, name)
	switch {
	case slices.Contains(d.meant[n], name):
		return true
	case v == nil || isNull(v):
		return false
	case name == "names":
		return v.Kind != yaml.MappingNode
	}
	return v.Kind != yaml.ScalarNode || v.ShortTag() != yaml.NodeTagString
}

func (d *decoder) versions(n *yaml.Node, p *path, e *entry) {
	if e.versions == nil || isNull(e.versions) {
		d.missing(n, p, "versions")
		return
	}
	p = p.field("versions")
	list := d.list(e.versions, p)
	if len(list) == 0 && e.versions.Kind == yaml.SequenceNode {
		d.ps.add(e.versions.Line, "%smust have at least one version", p.in())
	}
	d.c.Functions = slices.Grow(d.c.Functions, len(list))
	for i, v := range list {
		d.version(v, p.entry(i), e)
	}
}

func versionFields() []string {
	return []string{"name", "schema", "idempotent", "usage", "examples", "license", "maintainers", "runtime"}
}

func (d *decoder) version(n *yaml.Node, p *path, e *entry) {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, p, "mapping")
		return
	}
	f := e.shared
	f.Line = n.Line
	// Before the other fields: a runtime of this version is asked for by its id.
	if v := value(n, "name"); v != nil {
		f.ID.Version = d.name(v, p.field("name"))
	}
	d.mapping(n, p, versionFields, func(k, v *yaml.Node) bool { return d.versionField(&f, k, v, p.field(k.Value)) })
	if f.ID.Version == "" {
		d.missing(n, p, "name")
	}
	d.c.Functions = append(d.c.Functions, f)
}

func (d *decoder) versionField(f *Function, k, v *yaml.Node, p *path) bool {
	switch k.Value {
	case "name":
	case "schema":
		f.Schema = d.schema(v, p)
	case "idempotent":
		f.Idempotent = d.boolean(v, p)
	case "usage":
		f.Usage = d.text(v, p)
	case "examples":
		f.Examples = d.texts(v, p)
	case "license":
		f.License = d.text(v, p)
	case "maintainers":
		if list := d.texts(v, p); len(list) > 0 {
			f.Maintainers = list
		}
	case "runtime":
		if !isNull(v) {
			f.Runtimes = d.runtimes(v, p, f.ID)
		}
	default:
		return false
	}
	return true
}

func schemaFields() []string { return []string{"openAPIV3Schema"} }

// schema finds the schema and leaves it unread.
func (d *decoder) schema(n *yaml.Node, p *path) *yaml.RNode {
	if isNull(n) {
		return nil
	}
	var found *yaml.RNode
	d.mapping(n, p, schemaFields, func(k, v *yaml.Node) bool {
		if k.Value != "openAPIV3Schema" {
			return false
		}
		switch {
		case isNull(v):
		case v.Kind != yaml.MappingNode:
			d.wrongType(v, p.field(k.Value), "mapping")
		default:
			found = yaml.NewRNode(v)
		}
		return true
	})
	return found
}

// runtimes lists the ways that one `runtime:` gives, and leaves what each says unread.
func (d *decoder) runtimes(n *yaml.Node, p *path, at FunctionID) []Runtime {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, p, "mapping")
		return nil
	}
	d.blocks = append(d.blocks, block{node: n, at: at})
	out := make([]Runtime, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.ShortTag() == yaml.MergeTag {
			continue // reported when the file was parsed
		}
		if RuntimeField(k.Value) {
			// Taken for a runtime that nobody knows, it would be silently nothing.
			d.ps.add(k.Line, "%s%s is a field of a runtime and belongs inside of one, not beside it", p.in(), quote(k.Value))
			continue
		}
		out = append(out, Runtime{Kind: k.Value, Spec: yaml.NewRNode(n.Content[i+1]), Line: k.Line})
	}
	return out
}

// RuntimeField tells the names of the fields of runtimes, which no runtime can have itself.
func RuntimeField(name string) bool {
	return slices.Contains([]string{
		"requireNetwork", "requireStorageMount", "requireFilesystem", "network", "mounts", "envs", "args", "command",
		"image", "platforms", "bin", "path", "uri", "url", "oci", "source", "sha256",
	}, name)
}
