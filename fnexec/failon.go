package fnexec

import (
	"fmt"
	"strings"
)

// FailOn says which results make a call fail. An exit code other than 0 always does.
type FailOn string

// The values of FailOn. FailOnRole is kpt's rule: results of severity error make a validator
// fail, and for other functions only the exit code counts.
const (
	FailOnRole    FailOn = ""
	FailOnError   FailOn = "error"
	FailOnWarning FailOn = "warning" // and error
	FailOnNever   FailOn = "never"
)

// FailOns returns the values that a user may choose.
func FailOns() []string {
	return []string{string(FailOnError), string(FailOnWarning), string(FailOnNever)}
}

// of returns the rule for a function, depending on its role.
func (f FailOn) of(validator bool) FailOn {
	switch {
	case f != FailOnRole:
		return f
	case validator:
		return FailOnError
	}
	return FailOnNever
}

// fails reports whether a result makes a call fail. An unknown severity counts as an error.
func (f FailOn) fails(r Result) bool {
	switch {
	case f != FailOnError && f != FailOnWarning, r.Severity == SeverityInfo:
		return false
	}
	return r.Severity != SeverityWarning || f == FailOnWarning
}

// among returns the results that make a call fail.
func (f FailOn) among(results []Result) []Result {
	var found []Result
	for _, r := range results {
		if f.fails(r) {
			found = append(found, r)
		}
	}
	return found
}

// ResultsError reports that a function exited with 0 and its results make it fail.
type ResultsError struct {
	FailOn  FailOn   // the rule: FailOnError or FailOnWarning
	Results []Result // the results that make it fail, at least one
}

// Error counts the results by severity.
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
