package rewrite

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// BuildError is the error that kustomize cannot build a target.
type BuildError struct {
	Where string // the kustomization file, "" if it is not known
	Msg   string
	Err   error

	// Step is set if the error is about what a function returned. Generated is kustomize's message
	// about a resource that a generator function made and that cannot be added, "" for any other
	// error.
	Step      bool
	Generated string
}

// Error returns Msg, which is the complete text.
func (e *BuildError) Error() string { return e.Msg }

// Unwrap returns kustomize's own error.
func (e *BuildError) Unwrap() error { return e.Err }

// Details implements failure.Detailed. kustomize's text may already name the file.
func (e *BuildError) Details() failure.Details {
	return failure.Details{Position: failure.ParsePosition(e.Where), Named: strings.Contains(e.Msg, e.Where)}
}

// explain returns the error to show: the first error of a Step, or of the tree, or otherwise
// kustomize's own, with the user's names in place of virtual ones.
func (p *plan) explain(f *bridge.Failure) error {
	switch {
	case f.Step != nil:
		return f.Step
	case f.Returned != nil:
		return &BuildError{Where: p.whereOf(f.Err), Msg: "the function returned what kustomize cannot use: " + f.Returned.Error(), Err: f.Returned, Step: true}
	case f.Refused != nil:
		if bomb := p.bombFile(); bomb != nil && errors.Is(f.Refused, failure.Untrusted) { // it has a position
			return bomb
		}
		return &BuildError{Where: p.whereOf(f.Err), Msg: f.Refused.Error(), Err: f.Refused}
	case f.Panicked:
		if known := p.faultyFile(checkPreviousNames); known != nil {
			return known
		}
	}
	if bomb := p.bombFile(); bomb != nil {
		return bomb
	}
	if p.metadata {
		if known := p.faultyFile(checkTransformations); known != nil {
			return known
		}
	}
	msg, dir := p.unwrap(f.Msg())
	ofStep := regexp.MustCompile(fromStep).MatchString(msg)
	msg = plainIDs(regexp.MustCompile(goValue).ReplaceAllString(msg, ": "))
	if syntax := p.malformed(msg); syntax != nil {
		return syntax
	}
	if dir != "" {
		return p.explainBelow(msg, dir)
	}
	failed := &BuildError{Where: p.whereOf(f.Err), Msg: p.asWritten(msg), Err: f.Err}
	if ofStep {
		_, failed.Generated, _ = strings.Cut(failed.Msg, fromGenerator)
	}
	return failed
}

// unwrap removes the phrases about directories from kustomize's message, and returns the innermost
// of these directories. If no directory is virtual, the message stays as it is.
func (p *plan) unwrap(msg string) (plain, dir string) {
	if len(p.virtual) == 0 {
		return msg, ""
	}
	return unwrapped(msg)
}

// whereOf returns the kustomization file that kustomize's error is about. This is the file of the
// innermost directory in the message if that is the user's, and otherwise the file of the target.
func (p *plan) whereOf(err error) string {
	if _, dir := unwrapped(err.Error()); p.kustomizations[dir] != nil && !p.kustomizations[dir].inline {
		return p.kustomizations[dir].doc.File
	}
	if p.root == nil {
		return ""
	}
	return p.root.doc.File
}

// unwrapped is unwrap, but does not depend on virtual directories.
func unwrapped(msg string) (plain, dir string) {
	components, directory, both := regexp.MustCompile(inComponents), regexp.MustCompile(inDirectory), regexp.MustCompile(triedBoth)
	for before := ""; msg != before; {
		before = msg
		if m := components.FindStringSubmatch(msg); m != nil {
			if text, err := strconv.Unquote(m[1]); err == nil {
				msg = text
			}
		}
		if m := directory.FindStringSubmatch(msg); m != nil {
			msg, dir = msg[len(m[0]):], m[1]
		}
		if m := both.FindStringSubmatch(msg); m != nil {
			msg = m[1]
		}
	}
	return msg, dir
}

// builtinAt identifies a builtin of a Composition by the directory in which kustomize sees it.
type builtinAt struct{ root, kind, name string }

// explainBelow returns an error below a directory, of a builtin or of a file that a builtin reads,
// with its position and the user's names.
func (p *plan) explainBelow(msg, dir string) error {
	where := p.virtual[dir].Display
	if k, ok := p.kustomizations[dir]; ok {
		where = k.doc.File
	}
	if m := regexp.MustCompile(failedPlugin).FindStringSubmatch(msg); m != nil {
		if at := p.builtins[builtinAt{dir, m[1], m[2]}]; at != "" {
			where = at
		}
		text, _, _ := strings.Cut(m[3], " in\napiVersion:") // the whole config follows
		msg = fmt.Sprintf("%s %s: %s", m[1], m[2], text)
		return &source.SyntaxError{Where: where, Msg: p.asWritten(msg)}
	}
	msg = p.asWritten(msg)
	if _, user := p.kustomizations[dir]; user || regexp.MustCompile(ofResources).MatchString(msg) {
		return &source.SyntaxError{Where: where, Msg: msg} // it is not about a builtin of a Composition
	}
	switch builtins := p.builtinsAt(dir); len(builtins) {
	case 0:
	case 1:
		name, at := builtins[0][0], builtins[0][1]
		return &source.SyntaxError{Where: at, Msg: name + ": " + msg}
	default:
		var names []string
		for _, one := range builtins[:min(len(builtins), composition.MostErrors)] {
			names = append(names, one[0]+" ("+one[1]+")")
		}
		msg += "; the message is from one of " + strings.Join(names, ", ")
	}
	return &source.SyntaxError{Where: where, Msg: msg}
}

// builtinsAt returns the builtins that kustomize sees in a directory, each with its position.
func (p *plan) builtinsAt(dir string) [][2]string {
	var all [][2]string
	for at, where := range p.builtins {
		if at.root == dir {
			all = append(all, [2]string{at.kind + " " + at.name, where})
		}
	}
	slices.SortFunc(all, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return all
}

// asWritten replaces virtual names in a message by those that the user knows.
func (p *plan) asWritten(msg string) string {
	if !strings.Contains(msg, source.OwnPrefix) {
		return msg
	}
	written := make(map[string]string, len(p.Written)+len(p.virtual))
	for name, path := range p.Written {
		written[name] = path
	}
	for root, of := range p.virtual {
		written[root] = of.Display
	}
	// A name may begin with another one, as .krmcat-10 with .krmcat-1.
	names := slices.Sorted(maps.Keys(written))
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // the longest first
	for _, name := range names {
		msg = strings.ReplaceAll(msg, name, written[name])
	}
	return msg
}

// bombFile returns the error about the first file that would grow beyond the limits when it is
// parsed, nil if there is none. Such a file may be the cause of kustomize's error.
func (p *plan) bombFile() error {
	for _, dir := range slices.Sorted(maps.Keys(p.kustomizations)) {
		k := p.kustomizations[dir]
		for _, f := range k.pathFields() {
			switch f.field {
			case "configMapGenerator", "secretGenerator", "helmGlobals", "helmCharts":
				continue // these files are text, or read by helm
			}
			_, _, err := p.Documents(p.refIn(k, f.path))
			if errors.Is(err, failure.Untrusted) {
				return err
			}
		}
	}
	return nil
}

// malformed returns kustomize's error about a file that is not YAML, with its position, or nil for
// any other error.
func (p *plan) malformed(msg string) error {
	m := regexp.MustCompile(malformedYAML).FindStringSubmatch(msg)
	if m == nil {
		return nil
	}
	where := p.fileOf(m[3])
	if m[1] != "" {
		where += ":" + m[1]
	}
	return &source.SyntaxError{Where: where, Msg: "not valid YAML: " + m[2], Err: nil}
}

// fileOf returns the path that the user knows for a file of resources. kustomize names the file as
// it is written in some kustomization.
func (p *plan) fileOf(name string) string {
	if f, virtual := p.Refs[filepath.Base(name)]; virtual {
		return f.Place().Display
	}
	where := filepath.Clean(p.asWritten(name))
	for _, dir := range slices.Sorted(maps.Keys(p.kustomizations)) {
		k := p.kustomizations[dir]
		if slices.ContainsFunc(k.kust.Resources, func(r string) bool { return filepath.Clean(r) == where }) && source.IsFile(p.FS, k.Join(name).Dir) {
			return k.Join(name).Display
		}
	}
	return where
}

// plainIDs replaces the Go values of ids of resources by the format of all other messages.
func plainIDs(msg string) string {
	ids := regexp.MustCompile(goID)
	return ids.ReplaceAllStringFunc(msg, func(text string) string {
		m := ids.FindStringSubmatch(text)
		id := resid.NewResIdWithNamespace(resid.NewGvk(m[1], m[2], m[3]), m[4], m[5])
		return resource.FromResID(id).String()
	})
}

// faultyFile returns the error about the first resource of the user that a check refuses, nil if
// there is none. kustomize does not name that resource.
func (p *plan) faultyFile(check func(source.Document) error) error {
	for _, dir := range slices.Sorted(maps.Keys(p.kustomizations)) {
		k := p.kustomizations[dir]
		for _, path := range k.kust.Resources {
			docs, err := p.Resources(p.refIn(k, path))
			if err != nil {
				continue // kustomize could read the file: this is not the cause
			}
			for _, d := range docs {
				if err := check(d); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkPreviousNames refuses a resource whose record of previous names makes kustomize panic.
func checkPreviousNames(d source.Document) error {
	n := yaml.NewRNode(d.Node)
	if why := resource.Misremembered(n); why != "" {
		return d.Errorf(d.Node, "%s: %s", resource.IDOf(n), why)
	}
	return nil
}
