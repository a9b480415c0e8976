package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/starlark"
	"github.com/krmcat/krmcat/registry"
)

// checkScripts compiles scripts as loading them will.
func checkScripts(files []registry.File) error {
	sources := map[string][]byte{}
	for _, f := range files {
		sources[f.Title] = f.Data
	}
	return starlark.Check(files[0].Title, sources)
}

// checker reads the runtimes of a catalog as a render will.
type checker struct {
	file     string
	dir      string // what its relative paths are relative to
	remote   bool   // it goes where nobody has the files of this machine
	runtimes []fnexec.Runtime
	seen     map[*yaml.Node]bool // versions share the runtimes of their function
	problems []error
}

// check finds what no render could use, each with its line.
func (c *checker) check(cat *catalog.Catalog) error {
	c.seen = map[*yaml.Node]bool{}
	for _, fn := range cat.Functions {
		for _, rt := range fn.Runtimes {
			if n := rt.Spec.YNode(); n != nil && !c.seen[n] {
				c.seen[n] = true
				c.runtime(rt)
			}
		}
	}
	return errors.Join(c.problems...)
}

func (c *checker) add(line int, msg string) {
	c.problems = append(c.problems, &catalog.SyntaxError{File: c.file, Line: line, Msg: msg})
}

// noPlatform is fitted only by programs that are for every platform.
const noPlatform = "any/any"

// runtime reads a runtime once for each of the platforms that it lists. What krmcat does
// not know another tool may.
func (c *checker) runtime(way catalog.Runtime) {
	i := slices.IndexFunc(c.runtimes, func(known fnexec.Runtime) bool { return known.Kind() == way.Kind })
	if i < 0 {
		return
	}
	list := entries(fnexec.NewSpec(way.Spec, way.Kind))
	if len(list) == 0 {
		list = []fnexec.Spec{fnexec.NewSpec(way.Spec, way.Kind)} // it is wrong: how is said below
	}
	asked := map[string]bool{}
	for _, entry := range list {
		row := reference(entry)
		platform := cmp.Or(strings.ToLower(row.Platform), noPlatform)
		if asked[platform] {
			continue // the first one is what runs
		}
		asked[platform] = true
		line := way.Line
		if n := entry.Node(); n != nil && n.Line > 0 {
			line = n.Line
		}
		p, err := c.runtimes[i].Prepare(way.Spec, fnexec.Site{Dir: c.dir, Platform: platform})
		if c.refused(line, err) {
			return
		}
		if err == nil && c.remote && p.Needs.From.Local() {
			c.add(line, local(row.Ref, p.Needs.From))
		}
	}
}

// refused notes what is wrong with a spec. That it is for other machines is not.
func (c *checker) refused(line int, err error) bool {
	var elsewhere interface{ Elsewhere() bool }
	if err == nil || errors.As(err, &elsewhere) && elsewhere.Elsewhere() {
		return false
	}
	msg := err.Error()
	var spec *fnexec.SpecError
	if errors.As(err, &spec) {
		msg = spec.Field + ": " + spec.Msg
		if spec.Line > 0 {
			line = spec.Line
		}
	}
	c.add(line, msg)
	return true
}

// local says why a place is of no use in a registry.
func local(ref string, from registry.Locator) string {
	what := "file"
	if from.Scheme == registry.SchemeLayout {
		what = "directory"
	}
	if likeRegistry(ref) {
		return fmt.Sprintf("%s is read as a file of this machine: for a registry write oci://%s", ref, ref)
	}
	return fmt.Sprintf("%s is a %s of this machine: push it, and name its reference here", ref, what)
}
