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

// Beyond reports what forbids reading a file or directory of this machine that the
// functionConfig names, given its absolute path: the load restrictor permits what lies, links
// followed, in or below the directory that the config's paths are relative to. The error is a
// *RestrictedError, or one of looking at the path.
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

// Bound is the directory, links followed, to which the load restrictor holds what the
// functionConfig names; "" where it is off.
func (s Step) Bound(fsys filesys.FileSystem, o source.Options) (string, error) {
	if o.LoadAnywhere {
		return "", nil
	}
	root, _, err := fsys.CleanedAbs(s.Dir)
	return root.String(), err
}

// followed is where a path leads. Of a path that does not exist it follows the part that does.
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

// RestrictedError says that the load restrictor keeps a functionConfig from naming a file.
type RestrictedError = disk.RestrictedError

// Role is the list that a function stands in. It determines what happens to the output.
type Role string

// The roles of a Step.
const (
	Generator   Role = "generator"   // run on nothing, output added
	Transformer Role = "transformer" // output replaces the input
	Validator   Role = "validator"   // output discarded; a change is an error
)

// Step is one function that a target asks for.
type Step struct {
	Where    string // file:line
	Dir      string // absolute: what relative paths in the config are relative to
	Work     string // absolute: the function's working directory
	Role     Role
	In       Role // the list that its Composition stands in, where that runs as one
	ID       catalog.FunctionID
	Name     string       // metadata.name, or the kind in kebab case
	Config   *yaml.RNode  // the functionConfig, without `runtime`
	Inline   *Inline      // the runtime that the config itself names; nil for none
	Catalogs []CatalogRef // where to look, in order, where Inline is nil

	overlay    *Overlay // what Config is merged of, where the function's schema matters
	overridden []string // positions of the overrides in Config
}

// Validates reports whether the function is a validator, or stands in a Composition that is
// one.
func (s Step) Validates() bool { return s.Role == Validator || s.In == Validator }

// Inline is a runtime that stands in the functionConfig.
type Inline struct {
	catalog.Runtime
	Source       string // "runtime field", "annotation config.kubernetes.io/function", …
	Where        string // the config that names it
	DeferFailure bool   // later functions still run, and the render fails at the end
}

// CatalogRef is an entry of a `catalogs` list.
type CatalogRef struct {
	Declared string // as written
	Dir      string // absolute: what a relative place is relative to
	Where    string // file:line
}
