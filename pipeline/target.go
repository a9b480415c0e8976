package pipeline

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/krmcat/krmcat/pipeline/internal/disk"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/internal/failure"
)

// Role is the list that a function stands in. It decides what becomes of the output.
type Role string

// The roles of a Step.
const (
	Generator   Role = "generator"   // run on nothing, output added
	Transformer Role = "transformer" // output replaces the input
	Validator   Role = "validator"   // output discarded; a change is an error
)

// Step is one function that a target asks for.
type Step struct {
	Where    string // file:line, as a person would name it
	Dir      string // absolute: what relative paths in the config are relative to
	Work     string // absolute: the function's working directory
	Role     Role
	In       Role // the list that its Composition stands in, where that runs as one
	ID       catalog.FunctionID
	Name     string       // metadata.name, or the kind in kebab case
	Config   *yaml.RNode  // the functionConfig, without `runtime`
	Inline   *Inline      // the runtime that the config itself names; nil for none
	Catalogs []CatalogRef // where to look, in order, where Inline is nil

	layers     *layers  // what Config is merged of, where that takes the function's schema
	overridden []string // where the overrides in Config stand
}

// Validates tells whether what the function reports is a judgement: it is a validator, or
// stands in a Composition that is one.
func (s Step) Validates() bool { return s.Role == Validator || s.In == Validator }

// Inline is a runtime that stands in the functionConfig.
type Inline struct {
	catalog.Runtime
	Source       string // "runtime field", "annotation config.kubernetes.io/function", …
	Where        string // the config that names it
	DeferFailure bool   // the functions after it run all the same, and the render fails at the end
}

// CatalogRef is an entry of a `catalogs` list.
type CatalogRef struct {
	Declared string // as written
	Dir      string // absolute: what a relative place is relative to
	Where    string // file:line
}

// Apply runs step i of the target on items and returns what became of them.
type Apply func(ctx context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error)

// Target is a directory that was read and can be built.
type Target interface {
	Kind() string // Kustomization, Component or Composition
	Steps() []Step
	// Notes lists what a plan should say of the target itself, such as that helm runs.
	Notes() []string
	// Build makes the resources. It calls nothing but apply. Every Step is applied at
	// least once, or Build fails.
	Build(ctx context.Context, apply Apply) ([]*yaml.RNode, error)
}

// Ready tells whether this machine has what building a target takes: a directory for
// temporary files, where kustomize calls functions or helm, and helm. The error is a
// *scratch.Error, or says where helm is needed.
func Ready(t Target) error {
	if k, ok := t.(interface{ usable() error }); ok {
		return k.usable()
	}
	return nil
}

// Reorder says how the resources are ordered at the end.
type Reorder string

// The values of `--reorder`. Unspecified is kustomize's default: legacy, unless the
// kustomization has sortOptions.
const (
	ReorderUnspecified Reorder = ""
	ReorderLegacy      Reorder = "legacy"
	ReorderNone        Reorder = "none"
)

// Helm is what `kustomize build --enable-helm` and its neighbours set.
type Helm struct {
	Enabled     bool
	Command     string // "helm" where empty
	Path        string // where Command was found, absolute; "" leaves looking for it to kustomize
	Missing     error  // why it was not found, where it was looked for
	APIVersions []string
	KubeVersion string
	Debug       bool
}

// Options are the choices that `kustomize build` offers too.
type Options struct {
	// Executable is krmcat itself, which kustomize calls back for a Step.
	Executable string
	// LoadAnywhere lifts the rule that files lie in or below the kustomization.
	LoadAnywhere bool
	Reorder      Reorder
	ManagedBy    bool // --enable-managedby-label
	Helm         Helm
	TempDir      string // for the bridge's socket; the system's where empty
	// Refused is told what a flag would permit and is not given: it is left out, unread, and Load
	// goes on, so that all that is refused can be told. Such a Target is not to be built. Where it
	// is nil, Load fails.
	Refused func(error)
	// Warn is told what a user should know of the files, and what kustomize does not say;
	// may be nil.
	Warn func(Warning)
}

// Warning is something in a target's files that is taken, and hardly meant.
type Warning struct {
	Where string // file or file:line
	Msg   string
}

// SyntaxError is something wrong in a target's files.
type SyntaxError struct {
	Where string // file or file:line
	Msg   string
	Err   error // what is behind it, may be nil

	bomb    bool // the document grows beyond bounds when it is read, or asks for more than is done
	outward bool // it leads to where nothing permits it to
	missing bool // a file or directory that is named is not there
	flag    string
}

// Flag is the flag of `kustomize build` that permits what was refused, "" for none.
func (e *SyntaxError) Flag() string { return e.flag }

func (e *SyntaxError) Error() string {
	s := e.Where + ": " + e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// The flags that lift what is refused otherwise.
const (
	anywhereFlag = disk.AnywhereFlag
	helmFlag     = "--enable-helm"
)

// leaveOut keeps from an error what a flag would permit, where the target is only looked at.
func (p *plan) leaveOut(err error) error {
	if p.options.Refused == nil || err == nil {
		return err
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, one := range many.Unwrap() {
			rest = append(rest, p.leaveOut(one))
		}
		return errors.Join(rest...)
	}
	var e *SyntaxError
	if !errors.As(err, &e) || e.flag == "" {
		return err
	}
	p.options.Refused(err)
	return nil
}

// restricted refuses what the load restrictor keeps from being read.
func restricted(where, what, dir string) error {
	return &SyntaxError{Where: where, Msg: what + " is not in or below " + dir + ", and the load restrictor keeps files there", flag: anywhereFlag}
}

// strayLink refuses a target file that leads out of its directory.
func strayLink(file string) error {
	return &SyntaxError{Where: file, Msg: "it is a link that leads out of its directory, and the load restrictor keeps files there", flag: anywhereFlag}
}

// Is tells errors.Is that a file is missing where one that is named is not there, and what was
// refused for safety.
func (e *SyntaxError) Is(other error) bool {
	return e.missing && other == fs.ErrNotExist || e.bomb && other == failure.Untrusted || e.outward && other == failure.NotPermitted
}

// BuildError is kustomize's word that a target cannot be built.
type BuildError struct {
	Where string // the kustomization file, "" where none is known
	Msg   string
	Err   error

	step bool // it is about what a function returned
}

func (e *BuildError) Error() string { return e.Msg }
func (e *BuildError) Unwrap() error { return e.Err }

const compositionFile = "composition.yaml"

// compositionNames are the file names of a Composition: KEP-2299, "Proposal", names the
// first.
func compositionNames() []string { return []string{compositionFile, "composition.yml"} }

// Load reads the target in dir and all that it refers to, and plans its Steps. It does
// not run anything. fsys is the disk; a test may bring its own.
func Load(ctx context.Context, fsys filesys.FileSystem, dir string, o Options) (Target, error) {
	at, err := targetDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	name, err := compositionIn(fsys, at)
	switch {
	case err != nil:
		return nil, err
	case name != "":
		return loadComposition(ctx, fsys, at, o)
	}
	return loadKustomization(ctx, fsys, at, o)
}

// targetDir finds the directory of a target. What is asked for elsewhere is refused.
func targetDir(fsys filesys.FileSystem, dir string) (place, error) {
	if why := remoteForm(dir); why != "" && !fsys.IsDir(dir) {
		return place{}, &SyntaxError{Where: dir, Msg: "remote targets are not supported yet: " + why}
	}
	if !fsys.Exists(dir) {
		return place{}, &SyntaxError{Where: dir, Msg: "no such directory", missing: true}
	}
	root, err := confirmDir(fsys, dir)
	return place{dir: root, display: filepath.Clean(dir)}, err
}

// place is a directory by its real path and by the name the user knows it under.
type place struct{ dir, display string }

// join names a path below the place, or beside it.
func (p place) join(path string) place {
	if filepath.IsAbs(path) {
		return place{dir: path, display: path}
	}
	return place{dir: filepath.Join(p.dir, path), display: filepath.Join(p.display, path)}
}

// confirmDir gives the real path of a directory. A file is refused: so is what
// kustomize would take for a repository.
func confirmDir(fsys filesys.FileSystem, dir string) (string, error) {
	if !fsys.IsDir(dir) {
		return "", &SyntaxError{Where: dir, Msg: "not a directory"}
	}
	confirmed, _, err := fsys.CleanedAbs(dir)
	if err != nil {
		return "", &SyntaxError{Where: dir, Msg: "cannot be read", Err: err}
	}
	return confirmed.String(), nil
}

type kinds struct{ kustomization, composition []string }

// kindsIn lists the target files of a directory.
func kindsIn(fsys filesys.FileSystem, dir string) kinds {
	var k kinds
	for _, name := range kustomizationNames() {
		if isFile(fsys, filepath.Join(dir, name)) {
			k.kustomization = append(k.kustomization, name)
		}
	}
	for _, name := range compositionNames() {
		if isFile(fsys, filepath.Join(dir, name)) {
			k.composition = append(k.composition, name)
		}
	}
	return k
}

func isFile(fsys filesys.FileSystem, path string) bool {
	return fsys.Exists(path) && !fsys.IsDir(path)
}
