package pipeline

import (
	"fmt"
	"strings"
)

// blame gives an error of kustomize's to the function that it is about: what a plugin
// returned cannot be read, or what the last generator made cannot be added. Of a resource
// that kustomize cannot work on, it says which function it came out of.
func (a *applied) blame(failed *BuildError) error {
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
