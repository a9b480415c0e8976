package pipeline

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/krmcat/krmcat/internal/failure"
)

// The phrases in which kustomize wraps what went wrong below a directory. The one that
// quotes what it wraps comes first.
const (
	inComponents = `^accumulating components: accumulateDirectory: (".*")$`
	inDirectory  = `^(?:accumulating resources: )?(?:accumulation err='[^\n]*? must resolve to a file': )?recursed (?:accumulation of|merging from) path '([^']*)': `
	triedBoth    = `(?s)^(?:accumulating resources: )?accumulation err='(.*)': must build at directory: .*: file is not directory$`
)

// unwrap takes kustomize's words about the directories on the way off an error, and tells
// the last of them. Where no directory is ours, it stays as it is.
func (p *plan) unwrap(msg string) (plain, dir string) {
	if len(p.virtual) == 0 {
		return msg, ""
	}
	return unwrapped(msg)
}

// whereOf names the kustomization file that an error of kustomize's is about: that of the last
// directory on the way, as far as it is the user's.
func (p *plan) whereOf(err error) string {
	if _, dir := unwrapped(err.Error()); p.layers[dir] != nil && !p.layers[dir].inline {
		return p.layers[dir].doc.file
	}
	if p.root == nil {
		return ""
	}
	return p.root.doc.file
}

// unwrapped is unwrap, whoever's the directories are.
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

// failedPlugin is how kustomize says that it cannot read the config of a builtin.
const failedPlugin = `^plugin (\w+)\.builtin\.\[noGrp\]/(\S+?)\.\S* fails configuration: (?s)(.*)`

// builtinAt is a builtin of a Composition, by the directory in which kustomize sees it.
type builtinAt struct{ root, kind, name string }

// explain puts the error of a builtin, or of what a builtin reads, into a person's words.
func (p *plan) explain(msg, dir string) error {
	where := p.virtual[dir].display
	if l, ok := p.layers[dir]; ok {
		where = l.doc.file
	}
	if m := regexp.MustCompile(failedPlugin).FindStringSubmatch(msg); m != nil {
		if at := p.builtins[builtinAt{dir, m[1], m[2]}]; at != "" {
			where = at
		}
		text, _, _ := strings.Cut(m[3], " in\napiVersion:") // the whole config follows
		msg = fmt.Sprintf("%s %s: %s", m[1], m[2], text)
		return &SyntaxError{Where: where, Msg: p.asWritten(msg)}
	}
	msg = p.asWritten(msg)
	if _, users := p.layers[dir]; users || regexp.MustCompile(ofResources).MatchString(msg) {
		return &SyntaxError{Where: where, Msg: msg} // no builtin of a Composition has to do with it
	}
	switch who := p.builtinsAt(dir); len(who) {
	case 0:
	case 1:
		name, at := who[0][0], who[0][1]
		return &SyntaxError{Where: at, Msg: name + ": " + msg}
	default:
		var names []string
		for _, one := range who[:min(len(who), mostErrors)] {
			names = append(names, one[0]+" ("+one[1]+")")
		}
		msg += "; it is said by one of " + strings.Join(names, ", ")
	}
	return &SyntaxError{Where: where, Msg: msg}
}

// ofResources is how kustomize speaks of resources that it read, before any builtin runs.
const ofResources = `^(accumulating|merging) resources from |may not add resource with an already registered id`

// goValue is how kustomize names a generator: by its place in memory.
const goValue = ` &\{0x[^}]*\}: `

// goID is how kustomize names a resource in some messages: as a value of Go.
const goID = `(?:id )?resid\.ResId\{Gvk:resid\.Gvk\{Group:"([^"]*)", Version:"([^"]*)", Kind:"([^"]*)", isClusterScoped:(?:true|false)\}, Name:"([^"]*)", Namespace:"([^"]*)"\}`

// plainIDs names resources as everywhere else.
func plainIDs(msg string) string {
	ids := regexp.MustCompile(goID)
	return ids.ReplaceAllStringFunc(msg, func(text string) string {
		m := ids.FindStringSubmatch(text)
		id := resid.NewResIdWithNamespace(resid.NewGvk(m[1], m[2], m[3]), m[4], m[5])
		return resourceID{Gvk: id.Gvk, namespace: id.EffectiveNamespace(), name: id.Name}.String()
	})
}

// blame gives an error of kustomize's to the function that it is about: what a plugin
// returned cannot be read, or what the last generator made cannot be added. Of a resource
// that kustomize cannot work on, it says which function it came out of.
func (a *applied) blame(failed *BuildError) error {
	if a.last != nil && failed.step {
		return stepError(*a.last, failed.Msg)
	}
	if _, why, ok := strings.Cut(failed.Msg, fromGenerator); ok {
		for id := range a.made {
			if rest, ok := strings.CutPrefix(why, id.String()+" "); ok {
				return stepError(*a.last, fmt.Sprintf("it generated %s, which %s", id, rest))
			}
		}
	}
	first := len(a.steps)
	for id, i := range a.added {
		if id.spokenOf(failed.Msg) {
			first = min(first, i)
		}
	}
	if first < len(a.steps) {
		s := a.steps[first]
		failed.Msg += fmt.Sprintf("; it came out of %s %s (%s)", s.ID.Kind, s.Name, s.Where)
	} else if who := a.suspects(failed.Msg); who != "" {
		failed.Msg += "; before that, " + who
	}
	return failed
}

// speaksOf tells whether a text names a resource by its id, and not another whose id goes on
// before or behind it, as that of app.ns2 does behind app.ns.
func speaksOf(text, id string) bool {
	more := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' }
	for {
		before, after, found := strings.Cut(text, id)
		if !found {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(strings.TrimPrefix(after, ".")) // a full stop ends a sentence, or goes on
		if !more(last) && !more(next) {
			return true
		}
		text = after
	}
}

// fromGenerator begins what kustomize says of a resource of a generator that it cannot add.
const fromGenerator = "merging from generator: "

// builtinsAt lists the builtins that kustomize sees in a directory, each with where it
// stands.
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

// asWritten puts the names that the user knows in the place of ours.
func (p *plan) asWritten(msg string) string {
	if !strings.Contains(msg, ownPrefix) {
		return msg
	}
	ours := make(map[string]string, len(p.names)+len(p.virtual))
	for name, written := range p.names {
		ours[name] = written
	}
	for root, of := range p.virtual {
		ours[root] = of.display
	}
	names := sortedKeys(ours)
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // .krmcat-10 before .krmcat-1
	for _, name := range names {
		msg = strings.ReplaceAll(msg, name, ours[name])
	}
	return msg
}

// bombFile finds a file of YAML or JSON that nobody should read, behind an error of kustomize's.
func (p *plan) bombFile() error {
	for _, dir := range sortedKeys(p.layers) {
		l := p.layers[dir]
		for _, f := range l.pathFields() {
			switch f.field {
			case "configMapGenerator", "secretGenerator", "helmGlobals", "helmCharts":
				continue // these are text, or helm's
			}
			at := p.refIn(l, f.path)
			real, err := p.confine(at)
			if err != nil {
				continue
			}
			data, err := readConfigFile(p.fsys, real, at.place().display)
			if err == nil {
				_, err = parseDocuments(at.place().display, data)
			}
			if errors.Is(err, failure.Untrusted) {
				return err
			}
		}
	}
	return nil
}

// malformedYAML is how kustomize says that a file is not YAML.
const malformedYAML = `MalformedYAMLError: yaml: (?:line (\d+): )?(.*) in File: ([^\n]*)`

// malformed gives kustomize's word about a file that is not YAML its place.
func (p *plan) malformed(msg string) error {
	m := regexp.MustCompile(malformedYAML).FindStringSubmatch(msg)
	if m == nil {
		return nil
	}
	where := p.fileOf(m[3])
	if m[1] != "" {
		where += ":" + m[1]
	}
	return &SyntaxError{Where: where, Msg: "not valid YAML: " + m[2], Err: nil}
}

// fileOf finds the resource that kustomize names as it is written in some kustomization.
func (p *plan) fileOf(name string) string {
	if f, ours := p.refs[filepath.Base(name)]; ours {
		return f.place().display
	}
	where := filepath.Clean(p.asWritten(name))
	for _, dir := range sortedKeys(p.layers) {
		l := p.layers[dir]
		if slices.ContainsFunc(l.kust.Resources, func(r string) bool { return filepath.Clean(r) == where }) && isFile(p.fsys, l.join(name).dir) {
			return l.join(name).display
		}
	}
	return where
}
