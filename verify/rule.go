package verify

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/krmcat/krmcat/registry/reference"
)

// Rule says what is demanded of the places that it is for.
type Rule struct {
	Match []reference.Pattern
	// Functions and Reach narrow a rule: it is for runtimes of these functions, and for those
	// that ask for one of these. It is asked beside the rule for the place.
	Functions []FunctionPattern
	Reach     []Reach
	Catalogs  *Demand // nil: the rule does not speak of catalogs
	Runtimes  *Demand // nil: the rule does not speak of runtimes
	// Deny is why nothing that the rule is for may be used, whatever else is said of it.
	// Empty where the rule demands something.
	Deny  string
	Where string // file:line, or the flag
}

// Function is a function by its name.
type Function struct{ Group, Kind string }

// FunctionPattern is a set of functions: GROUP/KIND, in which * stands for any letters.
type FunctionPattern struct{ group, kind string }

// String is the pattern as it is written.
func (p FunctionPattern) String() string { return p.group + "/" + p.kind }

// Match reports whether a function is in the set, in whatever case its letters are.
func (p FunctionPattern) Match(f Function) bool {
	return p.lower().Exactly(Function{strings.ToLower(f.Group), strings.ToLower(f.Kind)})
}

// Exactly is Match by the letters as they are written.
func (p FunctionPattern) Exactly(f Function) bool {
	group, err := path.Match(p.group, f.Group)
	kind, kerr := path.Match(p.kind, f.Kind)
	return err == nil && kerr == nil && group && kind
}

func (p FunctionPattern) lower() FunctionPattern {
	return FunctionPattern{strings.ToLower(p.group), strings.ToLower(p.kind)}
}

// usual is the pattern with the letters that names have in Kubernetes: groups are in lower case, and
// kinds begin with a capital letter.
func (p FunctionPattern) usual() FunctionPattern {
	return FunctionPattern{strings.ToLower(p.group), strings.ToUpper(p.kind[:1]) + p.kind[1:]}
}

// parseFunctionPattern reads GROUP/KIND.
func parseFunctionPattern(s string) (FunctionPattern, bool) {
	group, kind, found := strings.Cut(s, "/")
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789*-"
	ok := found && group != "" && kind != "" && len(s) <= maxFunction && strings.Trim(group, letters+".") == "" && strings.Trim(kind, letters) == ""
	return FunctionPattern{group, kind}, ok
}

// Reach is something beyond its input that a function asks for.
type Reach string

// What functions ask for.
const (
	ReachNetwork     Reach = "network"
	ReachMounts      Reach = "mounts"      // files of this machine
	ReachExec        Reach = "exec"        // to be a program of this machine
	ReachEnvironment Reach = "environment" // variables
	ReachCommand     Reach = "command"     // a command or arguments: what of a program is run, and how
)

func reaches() []string {
	return []string{string(ReachNetwork), string(ReachMounts), string(ReachExec), string(ReachEnvironment), string(ReachCommand)}
}

// Demand is what content has to show.
type Demand struct {
	Digests bool // a digest or sha256 has to be given
	// Signatures judge what is attached to the content; all have to say yes, each by signers
	// of its own.
	Signatures []*Signed
	// OwnSignature asks for signatures of runtimes that a verified catalog pins too.
	OwnSignature bool
	// Nothing is why nothing is demanded. Empty where something is.
	Nothing string
	Until   time.Time // when Nothing ends; zero for never
	UntilOf time.Time // the day that Until is the end of, where a day is written; else zero
}

// end is when an exemption ends, as it is written.
func (d *Demand) end() string {
	if !d.UntilOf.IsZero() {
		return d.UntilOf.Format(time.DateOnly)
	}
	return d.Until.UTC().Format(time.RFC3339)
}

// String is what is demanded, for people; "" for a nil Demand.
func (d *Demand) String() string {
	switch {
	case d == nil:
		return ""
	case d.Nothing != "" && !d.Until.IsZero():
		return "nothing, until " + d.end() + ": " + d.Nothing
	case d.Nothing != "":
		return "nothing: " + d.Nothing
	}
	var parts []string
	if d.Digests {
		parts = append(parts, "a digest")
	}
	for _, s := range d.Signatures {
		parts = append(parts, s.Judge.String())
	}
	text := strings.Join(parts, " and ")
	if d.OwnSignature {
		text += ", although a catalog pins it"
	}
	return text
}

// of is what a rule demands of one kind of content, nil where it does not speak of it.
func (r Rule) of(use Use) *Demand {
	if use == UseCatalog {
		return r.Catalogs
	}
	return r.Runtimes
}

// narrow tells a rule that is for some runtimes of a place only.
func (r Rule) narrow() bool { return len(r.Functions) > 0 || len(r.Reach) > 0 }

// fits reports whether a narrow rule is for what is asked about; every other is.
func (r Rule) fits(ask Request) bool {
	if r.narrow() && ask.Use == UseCatalog {
		return false
	}
	some := func(f Function) bool {
		return slices.ContainsFunc(r.Functions, func(p FunctionPattern) bool { return p.Match(f) })
	}
	return (len(r.Functions) == 0 || slices.ContainsFunc(ask.Functions, some)) &&
		(len(r.Reach) == 0 || slices.ContainsFunc(ask.Reach, func(a Reach) bool { return slices.Contains(r.Reach, a) }))
}

// named reports whether what is asked about is of functions that a rule names by the very letters, so
// that it may open something to them; a rule for all functions names each.
func (r Rule) named(ask Request) bool {
	some := func(f Function) bool {
		return slices.ContainsFunc(r.Functions, func(p FunctionPattern) bool { return p.Exactly(f) })
	}
	return len(r.Functions) == 0 || slices.ContainsFunc(ask.Functions, some)
}

const day = 24 * time.Hour
