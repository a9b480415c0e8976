package source

import (
	"slices"
	"strings"
)

// Stack is what is being read, the outermost first.
type Stack struct{ Places []Place }

// Enter remembers that something is being read, so that it cannot be asked for from within.
func (s *Stack) Enter(at Place) (leave func(), err error) {
	if s.Reading(at) {
		return nil, &SyntaxError{Where: at.Display, Msg: "cycle: " + s.Cycle(at)}
	}
	s.Places = append(s.Places, at)
	return func() { s.Places = s.Places[:len(s.Places)-1] }, nil
}

func (s *Stack) Reading(at Place) bool {
	return slices.ContainsFunc(s.Places, func(o Place) bool { return o.Dir == at.Dir })
}

// Cycle shows the way from something back to itself.
func (s *Stack) Cycle(at Place) string {
	i := slices.IndexFunc(s.Places, func(o Place) bool { return o.Dir == at.Dir })
	var parts []string
	for _, o := range append(slices.Clone(s.Places[i:]), s.Places[i]) {
		parts = append(parts, o.Display)
	}
	return strings.Join(parts, " → ")
}
