package catalog

import (
	"cmp"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// Decode reads a catalog in any of its forms: kind Catalog, KRMFunctionCatalog or
// KRMFunctionDefinition, one or several documents, merged in order. The name and the labels are
// those of the first document that has them.
//
// name is the name of the text in errors: a path or a reference. The error is a *SyntaxErrors.
// Decode limits aliases and nesting. The caller limits the size of data. Fields that no render
// needs may be missing: see Lint.
func Decode(name string, data []byte) (*Catalog, error) {
	d := decode(name, data)
	if err := d.ps.Err(); err != nil {
		return nil, err
	}
	d.c.index = newIndex(d.c.Functions)
	return d.c, nil
}

// decode reads as much as it can of a broken catalog too, for Lint.
func decode(name string, data []byte) *decoder {
	d := &decoder{ps: yamldoc.Problems{File: name}, c: &Catalog{Source: name}}
	d.docs = yamldoc.Documents(data, &d.ps)
	for _, doc := range d.docs {
		d.document(d.ps.Read(doc.Content[0]))
	}
	if len(d.docs) == 0 && d.ps.Len() == 0 {
		d.ps.Add(0, "the file is empty, want a Catalog")
	}
	return d
}

// decoder converts the documents of one file into a Catalog.
type decoder struct {
	ps     yamldoc.Problems
	c      *Catalog
	docs   []*yaml.Node
	blocks []block

	entries int // functions that were read
}

// block is one `runtime:` of the file. Rewrite changes it.
type block struct {
	node *yaml.Node
	at   FunctionID
}

func (d *decoder) document(v yamldoc.Value) {
	if !v.IsMapping() {
		v.Fail("the document must be a mapping, not %s", yamldoc.Describe(v.Node()))
		return
	}
	// Of a document of another type only the type is reported.
	before := d.ps.Len()
	kind := v.Get("kind").OneOf(KindCatalog, KindKRMFunctionCatalog, KindDefinition)
	v.Get("apiVersion").OneOf(APIVersion)
	if d.ps.Len() > before {
		return
	}
	v.Only("apiVersion", "kind", "metadata", "spec")
	d.c.Kind = cmp.Or(d.c.Kind, kind)
	d.metadata(v.Get("metadata"))
	spec := v.Get("spec")
	if spec.Need(); kind == KindDefinition {
		if spec.Present() {
			d.function(spec, v.Get("metadata").Get("name"))
		}
		return
	}
	spec.Only("krmFunctions")
	functions := spec.Get("krmFunctions")
	if spec.IsMapping() && functions.Node() == nil { // null is an empty list
		functions.Need()
	}
	for _, f := range functions.Each() {
		d.function(f, yamldoc.Value{})
	}
}

// metadata reads what is shown to people. Other fields are not checked: they belong to Kubernetes.
// Labels and annotations may have values of other types: nothing depends on them.
func (d *decoder) metadata(v yamldoc.Value) {
	if !v.Map() {
		return
	}
	d.c.Name = cmp.Or(d.c.Name, v.Get("name").TextOnly())
	if m := v.Get("labels").Pairs(); len(d.c.Labels) == 0 {
		d.c.Labels = m
	}
	if m := v.Get("annotations").Pairs(); len(d.c.Annotations) == 0 {
		d.c.Annotations = m
	}
}

// function reads one entry of krmFunctions, or the spec of a definition, whose metadata has a name.
func (d *decoder) function(v, definition yamldoc.Value) {
	if !mapping(v) {
		return
	}
	v.Only("name", "group", "names", "kind", "description", "publisher", "versions", "runtime", "replaces", "home", "maintainers", "tags")
	f := Function{
		Description: v.Get("description").TextOnly(),
		Publisher:   v.Get("publisher").TextOnly(),
		Home:        v.Get("home").TextOnly(),
		Maintainers: texts(v.Get("maintainers")),
		Tags:        texts(v.Get("tags")),
		Name:        called(v.Get("name"), definition),
		entry:       entry{d.entries, v.Line()},
	}
	d.entries++
	if group := v.Get("group"); !group.Present() { // an empty text is the core group
		group.Need()
	}
	f.ID = FunctionID{Group: name(v.Get("group")), Kind: kind(v)}
	f.Runtimes = d.runtimes(v.Get("runtime"), f.ID)
	f.Replaces = replaces(v.Get("replaces"))
	versions := v.Get("versions")
	versions.Need()
	list := versions.Each()
	if versions.IsList() && len(list) == 0 {
		versions.Fail("must have at least one version")
	}
	d.c.Functions = slices.Grow(d.c.Functions, len(list))
	for _, one := range list {
		d.version(one, f)
	}
}

// called reads the name of an entry. That of a definition is in its metadata, and may be repeated.
func called(v, definition yamldoc.Value) string {
	if v.Present() && v.IsText() && v.Node().Value == "" {
		v.Need()
	}
	written, above := name(v), ""
	if definition.IsText() {
		above = definition.Node().Value
	}
	if written != "" && above != "" && written != above {
		v.Fail("%s contradicts metadata.name, which is %s", yamldoc.Quote(written), yamldoc.Quote(above))
	}
	return cmp.Or(written, above)
}

// kind reads the kind from names.kind or from kind: KEP-2906 has both.
func kind(v yamldoc.Value) string {
	v.Get("names").Only("kind")
	inNames, bare := v.Get("names").Get("kind"), v.Get("kind")
	a, b := name(inNames), name(bare)
	switch {
	case a != "" && b != "" && a != b:
		bare.Fail("%s contradicts names.kind, which is %s", yamldoc.Quote(b), yamldoc.Quote(a))
	case a == "" && b == "" && !bare.Present() && !bare.Misspelt():
		inNames.Need()
	}
	return cmp.Or(a, b)
}

// version reads one entry of versions. Its missing fields have the values of f.
func (d *decoder) version(v yamldoc.Value, f Function) {
	if !mapping(v) {
		return
	}
	v.Only("name", "schema", "idempotent", "usage", "examples", "license", "maintainers", "runtime", "replaces")
	v.Get("name").Need()
	f.Line = v.Line()
	f.ID.Version = name(v.Get("name"))
	f.Usage = v.Get("usage").TextOnly()
	f.Examples = texts(v.Get("examples"))
	f.License = v.Get("license").TextOnly()
	v.Get("schema").Only("openAPIV3Schema")
	if schema := v.Get("schema").Get("openAPIV3Schema"); schema.Map() {
		f.Schema = yaml.NewRNode(schema.Node())
	}
	if idempotent := v.Get("idempotent"); idempotent.Present() {
		is := idempotent.Bool()
		f.Idempotent = &is
	}
	if list := texts(v.Get("maintainers")); len(list) > 0 {
		f.Maintainers = list
	}
	if runtime := v.Get("runtime"); runtime.Present() {
		f.Runtimes = d.runtimes(runtime, f.ID)
	}
	if list := v.Get("replaces"); list.Present() {
		f.Replaces = replaces(list)
	}
	d.c.Functions = append(d.c.Functions, f)
}

// runtimes lists the runtimes of one `runtime:`, without their specs.
func (d *decoder) runtimes(v yamldoc.Value, at FunctionID) []Runtime {
	if !v.Map() {
		return nil
	}
	d.blocks = append(d.blocks, block{node: v.Node(), at: at})
	out := make([]Runtime, 0, len(v.Node().Content)/2)
	for key, spec := range v.Fields() {
		if RuntimeField(key.Value) {
			// It would be read as an unknown runtime, and ignored.
			spec.Fail("a field of a runtime belongs inside of one, not beside it")
			continue
		}
		out = append(out, Runtime{Kind: key.Value, Spec: yaml.NewRNode(spec.Node()), Line: key.Line})
	}
	return out
}

// RuntimeField reports whether name is a field of a runtime. No runtime can have such a name.
func RuntimeField(name string) bool {
	return slices.Contains([]string{
		"requireNetwork", "requireStorageMount", "requireFilesystem", "network", "mounts", "envs", "args", "command",
		"image", "platforms", "bin", "path", "uri", "url", "oci", "source", "sha256",
	}, name)
}

// mapping reports whether an entry of a list is a mapping, and records a problem if not.
func mapping(v yamldoc.Value) bool {
	if !v.Present() {
		v.Fail("must be a mapping, not null")
	}
	return v.Map()
}

// name reads a string that is part of a FunctionID, or a name.
func name(v yamldoc.Value) string {
	s := v.TextOnly()
	if notName(s) {
		v.Fail("%s is not a name: it has a slash, a space or a control character", yamldoc.Quote(s))
	}
	return s
}

// texts reads a list of strings, without the empty ones.
func texts(v yamldoc.Value) []string {
	var out []string
	for _, e := range v.Each() {
		if s := e.TextOnly(); s != "" {
			out = append(out, s)
		}
	}
	return out
}
