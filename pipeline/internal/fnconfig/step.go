package fnconfig

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/disk"
	"github.com/krmcat/krmcat/pipeline/internal/selector"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// CatalogRefs reads a list of places.
func CatalogRefs(d source.Document, node *yaml.Node, dir string) ([]CatalogRef, error) {
	if yamldoc.IsNull(node) {
		return nil, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, d.Errorf(node, "catalogs is a list of places (oci://…, oci-layout://…, https://…, or a file), this is %s", yamldoc.Describe(node))
	}
	var refs []CatalogRef
	for _, n := range node.Content {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != yaml.NodeTagString || strings.TrimSpace(n.Value) == "" {
			return nil, d.Errorf(n, "a catalog is named by its place (oci://…, oci-layout://…, https://…, or a file), this is %s", yamldoc.Describe(n))
		}
		refs = append(refs, CatalogRef{Declared: n.Value, Dir: dir, Where: d.Where(n)})
	}
	return refs, nil
}

// Beyond returns why a file or directory of this machine that the functionConfig names may not be
// read, by its absolute path. The load restrictor permits what is, after links are resolved, in or
// below the directory that the config's paths are relative to. The error is a *RestrictedError, or
// one of the file system.
func (s Step) Beyond(fsys filesys.FileSystem, path string, o source.Options) error {
	root, err := s.Bound(fsys, o)
	if err != nil || root == "" {
		return err
	}
	real, err := followed(fsys, path)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
		return &RestrictedError{Path: path, Dir: s.Dir}
	}
	return nil
}

// Bound returns the directory, after links are resolved, that the load restrictor permits for what
// the functionConfig names; "" if it is off.
func (s Step) Bound(fsys filesys.FileSystem, o source.Options) (string, error) {
	if o.LoadAnywhere {
		return "", nil
	}
	root, _, err := fsys.CleanedAbs(s.Dir)
	return root.String(), err
}

// followed resolves the links of a path. Of a path that does not exist, it resolves the part that
// does.
func followed(fsys filesys.FileSystem, path string) (string, error) {
	dir, name, err := fsys.CleanedAbs(path)
	if err == nil {
		return dir.Join(name), nil
	}
	parent := filepath.Dir(path)
	if !errors.Is(err, fs.ErrNotExist) || parent == path {
		return "", err
	}
	above, err := followed(fsys, parent)
	return filepath.Join(above, filepath.Base(path)), err
}

// RestrictedError reports a file outside the directory that the load restrictor permits.
type RestrictedError = disk.RestrictedError

// Role is the list that has a function. It determines what happens to the output.
type Role string

// The roles of a Step.
const (
	Generator   Role = "generator"   // has no input; the output is added
	Transformer Role = "transformer" // the output replaces the input
	Validator   Role = "validator"   // the output is discarded; a change is an error
)

// Step is one function of a target.
type Step struct {
	Where    string // file:line
	Dir      string // absolute: what relative paths in the config are relative to
	Work     string // absolute: the function's working directory
	Role     Role
	In       Role // the list that has its Composition, if that runs as one
	ID       catalog.FunctionID
	Name     string       // metadata.name, or the kind in kebab case
	Config   *yaml.RNode  // the functionConfig, without `runtime`
	Inline   *Inline      // the runtime that the config itself names; nil for none
	Named    *Named       // the function of a catalog that the config names; nil for none, and beside Inline
	Catalogs []CatalogRef // the search path, in order, if Inline is nil
	Only     Selection    // the resources that it gets
	InFiles  bool         // the resources stand in files, and their comments have to be kept
	Latest   *Latest      // the functionConfig as it is when the function runs; nil for Config

	// Filed is set in a Composition: the function sees for each resource the file of the target in
	// which it stands, if it stands in one. Elsewhere it sees what it sees in kustomize.
	Filed bool
	// Remarks is set if a later function gets the resources with their comments, which may be data
	// for it: those that this function loses are put back.
	Remarks bool

	asks       *catalog.Query // what the catalogs are asked for, if not for Named and ID
	overlay    *Overlay       // the parts of Config, if the function's schema matters
	overridden []string       // positions of the overrides in Config
}

// Latest is a functionConfig that is one of the resources, and which earlier functions may change.
type Latest struct {
	File   string      // of the resource, relative to the target
	Config *yaml.RNode // set by Build before the function runs; nil if it was not changed
}

// Validates reports whether the function is a validator, or part of a Composition that is one.
func (s Step) Validates() bool { return s.Role == Validator || s.In == Validator }

// Inline is a runtime that is part of the functionConfig.
type Inline struct {
	catalog.Runtime
	Source       string // "runtime field", "annotation config.kubernetes.io/function", …
	Where        string // the config that names it
	DeferFailure bool   // later functions still run, and the render fails at the end
	// Instead says which function of a trusted catalog runs in place of the runtime, if there is
	// one; nil for a runtime that no catalog may replace.
	Instead *catalog.Query
	// Only are the resources that the function sees, in a Composition. If nothing else is named,
	// Kind is "".
	Only selector.Selection
	// Command is the program with its arguments as a file has them in one text; "" otherwise. It is
	// what results name.
	Command string
	// Flag is the flag of the command line that names the program, which permits it to run; ""
	// if a file names it. What is read from a file never sets it.
	Flag string
}

// Named is a function that is found in trusted catalogs by its name, whatever the kind of the
// functionConfig is. It names no program, so it needs no permission.
type Named struct {
	Function     string // the name of an entry, or GROUP/KIND[/VERSION]: catalog.Query
	Source       string // "the field runtime", "the annotation config.kubernetes.io/function", …
	Where        string // the config that names it
	DeferFailure bool   // as in Inline
}

// Instead is the Step with the function of a catalog that may run in place of its runtime. ok is
// false if none may.
func (s Step) Instead() (other Step, ok bool) {
	if s.Inline == nil || s.Inline.Instead == nil {
		return s, false
	}
	s.asks, s.Inline = s.Inline.Instead, nil
	return s, true
}

// Query says which function the Step asks for.
func (s Step) Query() catalog.Query {
	if s.asks != nil {
		return *s.asks
	}
	q := catalog.Query{Config: s.ID}
	if s.Named != nil {
		q.Named = s.Named.Function
	}
	return q
}

// CatalogRef is an entry of a `catalogs` list.
type CatalogRef struct {
	Declared string // as written
	Dir      string // absolute: what a relative place is relative to
	Where    string // file:line
}
