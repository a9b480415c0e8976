package verify

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/krmcat/krmcat/registry/reference"
)

// Rule sets requirements for the places that it matches.
type Rule struct {
	Match []reference.Pattern
	// Functions and Reach narrow a rule to runtimes of these functions, and to those that request
	// one of these. It then applies in addition to the rule for the place.
	Functions []FunctionPattern
	Reach     []Reach
	Catalogs  *Demand // nil: the rule does not apply to catalogs
	Runtimes  *Demand // nil: the rule does not apply to runtimes
	// Deny is the reason to refuse everything that the rule matches, whatever other rules say.
	// "" for a rule with requirements.
	Deny  string
	Where string // file:line, or the flag
}

// Function is the name of a function.
type Function struct{ Group, Kind string }

// FunctionPattern is a set of functions: GROUP/KIND, where * matches any characters. The core group
// is empty: /ConfigMap.
type FunctionPattern struct{ group, kind string }

// String returns the pattern as written.
func (p FunctionPattern) String() string { return p.group + "/" + p.kind }

// Match reports whether a function is in the set, without regard to case.
func (p FunctionPattern) Match(f Function) bool {
	return p.lower().Exactly(Function{strings.ToLower(f.Group), strings.ToLower(f.Kind)})
}

// Exactly reports whether a function is in the set, with regard to case.
func (p FunctionPattern) Exactly(f Function) bool {
	group, err := path.Match(p.group, f.Group)
	kind, kerr := path.Match(p.kind, f.Kind)
	return err == nil && kerr == nil && group && kind
}

func (p FunctionPattern) lower() FunctionPattern {
	return FunctionPattern{strings.ToLower(p.group), strings.ToLower(p.kind)}
}

// usual returns the pattern in the spelling of Kubernetes: the group in lower case, the kind with a
// capital letter at the beginning.
func (p FunctionPattern) usual() FunctionPattern {
	return FunctionPattern{strings.ToLower(p.group), strings.ToUpper(p.kind[:1]) + p.kind[1:]}
}

// parseFunctionPattern parses GROUP/KIND, and reports whether s is a pattern.
func parseFunctionPattern(s string) (FunctionPattern, bool) {
	group, kind, found := strings.Cut(s, "/")
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789*-"
	ok := found && kind != "" && len(s) <= maxFunction && strings.Trim(group, letters+".") == "" && strings.Trim(kind, letters) == ""
	return FunctionPattern{group, kind}, ok
}

// Reach is a kind of access that a function requests.
type Reach string

// The kinds of access.
const (
	ReachNetwork     Reach = "network"
	ReachMounts      Reach = "mounts"      // files of this machine
	ReachExec        Reach = "exec"        // to run a program of this machine
	ReachEnvironment Reach = "environment" // environment variables
	ReachCommand     Reach = "command"     // a command or arguments
)

func reaches() []string {
	return []string{string(ReachNetwork), string(ReachMounts), string(ReachExec), string(ReachEnvironment), string(ReachCommand)}
}

// Demand is what content must satisfy.
type Demand struct {
	Digests bool // a digest or sha256 is required
	// Signatures are groups of required signatures. All must be satisfied, by different signers.
	Signatures []*Signed
	// OwnSignature requires signatures also of runtimes that a verified catalog pins.
	OwnSignature bool
	// Nothing is the reason of an exemption, "" if there are requirements.
	Nothing string
	Until   time.Time // when the exemption expires; zero for never
	UntilOf time.Time // the day whose end is Until, if the policy gives a day; otherwise zero
}

// end returns when an exemption expires, as written.
func (d *Demand) end() string {
	if !d.UntilOf.IsZero() {
		return d.UntilOf.Format(time.DateOnly)
	}
	return d.Until.UTC().Format(time.RFC3339)
}

// String describes the requirements, "" for a nil Demand.
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

// fits reports whether a narrowed rule applies to the request. Other rules always fit.
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

// named reports whether a rule names the functions of a request with the same case, so that it may
// relax requirements for them. A rule for all functions names each.
func (r Rule) named(ask Request) bool {
	some := func(f Function) bool {
		return slices.ContainsFunc(r.Functions, func(p FunctionPattern) bool { return p.Exactly(f) })
	}
	return len(r.Functions) == 0 || slices.ContainsFunc(ask.Functions, some)
}

const day = 24 * time.Hour
