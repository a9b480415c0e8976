package fnconfig

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/selector"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// Declarations says how functions run that are declared among the resources which they change, by
// an annotation such as config.kubernetes.io/function, as `kustomize fn run` runs them.
type Declarations struct {
	Of     string             // the directory of the resources as the user knows it, for messages
	Dir    string             // absolute: the working directory, which programs are relative to
	Global bool               // each function gets all resources, and not only those at its directory
	Only   selector.Selection // what all functions get
}

// functionsDir is the name of a directory whose functions count as those of the one above.
const functionsDir = "functions"

// Steps returns the functions in the order in which they run: those in the deepest directories
// first, in one file as they are written. items are not changed.
func (d Declarations) Steps(items []*yaml.RNode) ([]Step, error) {
	var steps []Step
	var places []declared
	for _, n := range items {
		s, at, err := d.step(n)
		if err != nil {
			return nil, err
		}
		if s.Inline != nil || s.Named != nil {
			at.number = len(steps)
			steps, places = append(steps, s), append(places, at)
		}
	}
	slices.SortStableFunc(places, declared.compare)
	sorted := make([]Step, len(steps))
	for i, at := range places {
		sorted[i] = steps[at.number]
	}
	return sorted, nil
}

// declared is where a function is declared.
type declared struct {
	number int // of its Step
	dir    string
	file   resource.File
}

// compare orders functions as kyaml does.
func (a declared) compare(b declared) int {
	if a.file.Path == b.file.Path {
		i, _ := strconv.Atoi(a.file.Index)
		j, _ := strconv.Atoi(b.file.Index)
		return i - j
	}
	if depth := b.depth() - a.depth(); depth != 0 {
		return depth
	}
	return strings.Compare(a.dir, b.dir)
}

func (a declared) depth() int {
	if a.dir == "" {
		return 0
	}
	return 1 + strings.Count(a.dir, "/")
}

// step returns the Step of a resource that declares a function. Others have neither Inline nor
// Named.
func (d Declarations) step(n *yaml.RNode) (Step, declared, error) {
	at := declared{file: resource.FileOf(n)}
	at.dir = path.Dir(path.Clean(at.file.Path))
	if path.Base(at.dir) == functionsDir {
		at.dir = path.Dir(at.dir)
	}
	if at.dir == "." || at.file.Path == "" {
		at.dir = ""
	}
	doc := source.Document{File: filepath.Join(d.Of, filepath.FromSlash(at.file.Path)), Node: n.YNode()}
	if !(Config{Document: doc, Node: n}).declares() {
		return Step{}, at, nil
	}
	doc.Node = n.Copy().YNode()
	source.ForgetLines(doc.Node) // they are those of a document, and not of its file
	c, err := ReadConfig(doc)
	if err != nil {
		return Step{}, at, err
	}
	in, err := c.noted()
	if err != nil {
		return Step{}, at, err
	}
	config, err := c.Normal()
	if err != nil {
		return Step{}, at, err
	}
	only := Selection{Dir: at.dir, Selection: in.Only, Flags: d.Only}
	if d.Global {
		only.Dir = ""
	}
	s := Step{
		Where: doc.File, Dir: d.Dir, Work: d.Dir, Role: Transformer, ID: c.ID, Name: c.Name, Config: config, Only: only,
	}
	return s.RunBy(in), at, nil
}
