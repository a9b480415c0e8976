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

// BuildError says that kustomize cannot build a target.
type BuildError struct {
	Where string // the kustomization file, "" where none is known
	Msg   string
	Err   error

	// Step is set where the error is about what a function returned. Generated is what
	// kustomize says of a resource that a generator made and that cannot be added, "" for all
	// else.
	Step      bool
	Generated string
}

// Error is Msg, which is complete.
func (e *BuildError) Error() string { return e.Msg }

// Unwrap returns kustomize's own error.
func (e *BuildError) Unwrap() error { return e.Err }

// Details implements failure.Detailed. Kustomize's text may name the file already.
func (e *BuildError) Details() failure.Details {
	return failure.Details{Position: failure.ParsePosition(e.Where), Named: strings.Contains(e.Msg, e.Where)}
}

// why finds the error to show: the first of a Step, or of the tree, or else kustomize's own,
// with the user's names in place of virtual ones.
func (p *plan) why(f *bridge.Failure) error {
	switch {
	case f.Step != nil:
		return f.Step
	case f.Returned != nil:
		return &BuildError{Where: p.whereOf(f.Err), Msg: "the function returned what kustomize cannot take: " + f.Returned.Error(), Err: f.Returned, Step: true}
	case f.Refused != nil:
		if bomb := p.bombFile(); bomb != nil && errors.Is(f.Refused, failure.Untrusted) { // it has the position
			return bomb
		}
		return &BuildError{Where: p.whereOf(f.Err), Msg: f.Refused.Error(), Err: f.Refused}
	case f.Panicked:
		if known := p.faultyFile(misremembered); known != nil {
			return known
		}
	}
	if bomb := p.bombFile(); bomb != nil {
		return bomb
	}
	if p.metadata {
		if known := p.faultyFile(misrecorded); known != nil {
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
		return p.explain(msg, dir)
	}
	failed := &BuildError{Where: p.whereOf(f.Err), Msg: p.asWritten(msg), Err: f.Err}
	if ofStep {
		_, failed.Generated, _ = strings.Cut(failed.Msg, fromGenerator)
	}
	return failed
}

// unwrap removes kustomize's words about the directories on the way from an error, and returns
// the last of these directories. Where no directory is virtual, the error stays as it is.
func (p *plan) unwrap(msg string) (plain, dir string) {
	if len(p.virtual) == 0 {
		return msg, ""
	}
	return unwrapped(msg)
}

// whereOf names the kustomization file that an error of kustomize's is about: that of the last
// directory on the way that is the user's.
func (p *plan) whereOf(err error) string {
	if _, dir := unwrapped(err.Error()); p.kustomizations[dir] != nil && !p.kustomizations[dir].inline {
		return p.kustomizations[dir].doc.File
	}
	if p.root == nil {
		return ""
	}
	return p.root.doc.File
}

// unwrapped is unwrap, whether or not directories are virtual.
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

// builtinAt is a builtin of a Composition, by the directory in which kustomize sees it.
type builtinAt struct{ root, kind, name string }

// explain gives the error of a builtin, or of what a builtin reads, its position and the user's
// names.
func (p *plan) explain(msg, dir string) error {
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
	if _, users := p.kustomizations[dir]; users || regexp.MustCompile(ofResources).MatchString(msg) {
		return &source.SyntaxError{Where: where, Msg: msg} // it is not about a builtin of a Composition
	}
	switch who := p.builtinsAt(dir); len(who) {
	case 0:
	case 1:
		name, at := who[0][0], who[0][1]
		return &source.SyntaxError{Where: at, Msg: name + ": " + msg}
	default:
		var names []string
		for _, one := range who[:min(len(who), composition.MostErrors)] {
			names = append(names, one[0]+" ("+one[1]+")")
		}
		msg += "; it is said by one of " + strings.Join(names, ", ")
	}
	return &source.SyntaxError{Where: where, Msg: msg}
}

// builtinsAt lists the builtins that kustomize sees in a directory, each with its position.
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

// asWritten replaces virtual names by those that the user knows.
func (p *plan) asWritten(msg string) string {
	if !strings.Contains(msg, source.OwnPrefix) {
		return msg
	}
	ours := make(map[string]string, len(p.Written)+len(p.virtual))
	for name, written := range p.Written {
		ours[name] = written
	}
	for root, of := range p.virtual {
		ours[root] = of.Display
	}
	names := slices.Sorted(maps.Keys(ours))
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // .krmcat-10 before .krmcat-1
	for _, name := range names {
		msg = strings.ReplaceAll(msg, name, ours[name])
	}
	return msg
}

// bombFile finds a file that would grow beyond bounds when it is parsed, behind an error of
// kustomize's.
func (p *plan) bombFile() error {
	for _, dir := range slices.Sorted(maps.Keys(p.kustomizations)) {
		k := p.kustomizations[dir]
		for _, f := range k.pathFields() {
			switch f.field {
			case "configMapGenerator", "secretGenerator", "helmGlobals", "helmCharts":
				continue // these are text, or helm's
			}
			_, _, err := p.Documents(p.refIn(k, f.path))
			if errors.Is(err, failure.Untrusted) {
				return err
			}
		}
	}
	return nil
}

// malformed adds the position to kustomize's error about a file that is not YAML.
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

// fileOf finds the file of resources that kustomize names as it is written in some
// kustomization.
func (p *plan) fileOf(name string) string {
	if f, ours := p.Refs[filepath.Base(name)]; ours {
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

// plainIDs writes ids of resources as in all other messages.
func plainIDs(msg string) string {
	ids := regexp.MustCompile(goID)
	return ids.ReplaceAllStringFunc(msg, func(text string) string {
		m := ids.FindStringSubmatch(text)
		id := resid.NewResIdWithNamespace(resid.NewGvk(m[1], m[2], m[3]), m[4], m[5])
		return resource.FromResID(id).String()
	})
}

// faultyFile finds the first resource of the user's that a check refuses, since kustomize does not
// name it.
func (p *plan) faultyFile(check func(source.Document) error) error {
	for _, dir := range slices.Sorted(maps.Keys(p.kustomizations)) {
		k := p.kustomizations[dir]
		for _, path := range k.kust.Resources {
			docs, err := p.Resources(p.refIn(k, path))
			if err != nil {
				continue // kustomize could read it: the cause is another one
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

// misremembered refuses a resource at which kustomize panics.
func misremembered(d source.Document) error {
	n := yaml.NewRNode(d.Node)
	if why := resource.Misremembered(n); why != "" {
		return d.Errorf(d.Node, "%s: %s", resource.IDOf(n), why)
	}
	return nil
}
