package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/starlark"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
)

// checkScripts compiles scripts, as a render does.
func checkScripts(files []registry.File) error {
	sources := map[string][]byte{}
	for _, f := range files {
		sources[f.Title] = f.Data
	}
	return starlark.Check(files[0].Title, sources)
}

// checker reads the runtimes of a catalog as a render does.
type checker struct {
	file     string
	dir      string            // the directory of its relative paths
	to       reference.Locator // the target; readers of a registry do not have the local files
	beside   *beside           // publishes local files; nil without --pin
	runtimes []fnexec.Runtime
	seen     map[*yaml.Node]bool // versions share the runtimes of their function
	problems []error
}

// check reports what no render could use, with lines.
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

// noPlatform matches only programs for all platforms.
const noPlatform = "any/any"

// listed is an entry of a spec that a render may choose.
type listed struct {
	row      referenceRow
	platform string // prepared for this platform
	line     int    // 0 if unknown
}

// chosen returns the entries of a runtime that a render may choose: the first for each platform.
func chosen(way catalog.Runtime) []listed {
	list := entries(fnexec.NewSpec(way.Spec, way.Kind))
	if len(list) == 0 {
		list = []fnexec.Spec{fnexec.NewSpec(way.Spec, way.Kind)} // malformed: reported when it is read
	}
	var out []listed
	for _, entry := range list {
		row := rowOf(entry)
		e := listed{row, cmp.Or(strings.ToLower(row.Platform), noPlatform), entry.Line()}
		if !slices.ContainsFunc(out, func(before listed) bool { return before.platform == e.platform }) {
			out = append(out, e)
		}
	}
	return out
}

// runtime reads a runtime once for each platform that it lists. A runtime that krmcat does not know
// is for other tools.
func (c *checker) runtime(way catalog.Runtime) {
	i := slices.IndexFunc(c.runtimes, func(known fnexec.Runtime) bool { return known.Kind() == way.Kind })
	if i < 0 {
		return
	}
	for _, entry := range chosen(way) {
		line := cmp.Or(entry.line, way.Line)
		p, err := c.runtimes[i].Prepare(way.Spec, fnexec.Site{Dir: c.dir, Platform: entry.platform})
		if c.refused(line, err) {
			return
		}
		if err == nil && p.Needs.Literal == nil && p.Needs.From.Local() {
			c.local(line, p.Needs, entry.row)
		}
	}
}

// local reads a local file to publish, and reports a path that is of no use where the catalog is
// published.
func (c *checker) local(line int, n fnexec.Needs, row referenceRow) {
	along := c.beside != nil && n.From.Scheme == reference.SchemeFile
	var err error
	if along {
		err = c.beside.read(n, row.Ref)
	}
	var beyond *ownfile.BeyondError
	switch {
	case errors.Is(err, fs.ErrNotExist) && registry.LikeRegistry(row.Ref):
		c.add(line, noUse(row.Ref, n.From))
	case errors.As(err, &beyond):
		c.fail(line, err, c.publish(n, row))
	case err != nil:
		c.fail(line, err, "")
	case along || c.to.Scheme != reference.SchemeOCI:
	default:
		msg := noUse(row.Ref, n.From)
		if how := c.publish(n, row); how != "" {
			msg += how + ", or let --pin do both"
		}
		c.add(line, msg)
	}
}

// fail records an error, with more text.
func (c *checker) fail(line int, err error, more string) {
	c.problems = append(c.problems, &catalog.SyntaxError{File: c.file, Line: line, Msg: err.Error() + more, Err: err})
}

// refused records what is wrong with a spec. To be for other machines is not wrong.
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

// noUse returns why a local path is of no use in a registry.
func noUse(ref string, from reference.Locator) string {
	what := "file"
	if from.Scheme == reference.SchemeLayout {
		what = "directory"
	}
	if registry.LikeRegistry(ref) {
		return fmt.Sprintf("%s is read as a file of this machine: for a registry write oci://%s", ref, ref)
	}
	return fmt.Sprintf("%s is a %s of this machine: push it, and name its reference here", ref, what)
}

// publish returns the command that pushes a file to the catalog's repository; "" if it is not a
// plain file.
func (c *checker) publish(n fnexec.Needs, row referenceRow) string {
	if n.From.Scheme != reference.SchemeFile || registry.LikeRegistry(row.Ref) {
		return ""
	}
	base := filepath.Base(n.From.Name)
	to := reference.Locator{
		Scheme: reference.SchemeOCI, Tag: cmp.Or(c.to.Tag, "v1"),
		Name: path.Join(path.Dir(c.to.Name), strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base)))),
	}
	if _, err := reference.Parse(to.String()); err != nil { // the name is not valid for a repository
		return ""
	}
	if n.Use == verify.UseProgram {
		return fmt.Sprintf(" (krmcat push %s --platform %s=%s)", to, cmp.Or(row.Platform, "OS/ARCH"), row.Ref)
	}
	return fmt.Sprintf(" (krmcat push %s %s)", to, row.Ref)
}
