package fnexec

import (
	"fmt"
	"strings"
)

// FailOn says which results make a call fail, however the function exits. An exit code
// other than 0 always does.
type FailOn string

// The values of FailOn. FailOnRole is kpt's rule: results of severity error fail a validator,
// and for all others the exit code decides.
const (
	FailOnRole    FailOn = ""
	FailOnError   FailOn = "error"
	FailOnWarning FailOn = "warning" // and error
	FailOnNever   FailOn = "never"
)

// FailOns lists what a user may ask for.
func FailOns() []string {
	return []string{string(FailOnError), string(FailOnWarning), string(FailOnNever)}
}

// of is the rule for a function, which has a role.
func (f FailOn) of(validator bool) FailOn {
	switch {
	case f != FailOnRole:
		return f
	case validator:
		return FailOnError
	}
	return FailOnNever
}

// fails reports whether a result makes a call fail. A severity that nobody has defined may
// mean anything, so it counts as an error.
func (f FailOn) fails(r Result) bool {
	switch {
	case f != FailOnError && f != FailOnWarning, r.Severity == SeverityInfo:
		return false
	}
	return r.Severity != SeverityWarning || f == FailOnWarning
}

// among gives the results that make a call fail.
func (f FailOn) among(results []Result) []Result {
	var found []Result
	for _, r := range results {
		if f.fails(r) {
			found = append(found, r)
		}
	}
	return found
}

// ResultsError says that a function exited with 0 and reported what makes it fail.
type ResultsError struct {
	FailOn  FailOn   // the rule: FailOnError or FailOnWarning
	Results []Result // those that make it fail, at least one
}

func (e *ResultsError) Error() string {
	warnings := 0
	for _, r := range e.Results {
		if r.Severity == SeverityWarning {
			warnings++
		}
	}
	var counts []string
	for _, c := range []struct {
		n    int
		what string
	}{{len(e.Results) - warnings, "error"}, {warnings, "warning"}} {
		switch c.n {
		case 0:
		case 1:
			counts = append(counts, "1 "+c.what)
		default:
			counts = append(counts, fmt.Sprintf("%d %ss", c.n, c.what))
		}
	}
	return "exit code 0, and it reported " + strings.Join(counts, " and ")
}
