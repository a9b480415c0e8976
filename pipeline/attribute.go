package pipeline

import (
	"fmt"
	"strings"
)

// attribute attributes an error of kustomize to a function: to the last one if its output cannot be
// read or added, or to the one whose output has the resource that the error names. Otherwise it
// adds to the message which functions may be the cause.
func (a *applied) attribute(failed *BuildError) error {
	if a.last != nil && failed.Step {
		return stepError(*a.last, failed.Msg)
	}
	for id := range a.made {
		if rest, ok := strings.CutPrefix(failed.Generated, id.String()+" "); ok {
			return stepError(*a.last, fmt.Sprintf("it generated %s, which %s", id, rest))
		}
	}
	first := len(a.steps)
	for id, i := range a.added {
		if id.NamedIn(failed.Msg) {
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
