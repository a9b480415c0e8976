package source

import (
	"slices"
	"strings"
)

// Stack is the files that are being read, the outermost first.
type Stack struct{ Places []Place }

// Enter records that a file is being read, so that a cycle is found.
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

// Cycle shows the way from a file back to itself.
func (s *Stack) Cycle(at Place) string {
	i := slices.IndexFunc(s.Places, func(o Place) bool { return o.Dir == at.Dir })
	var parts []string
	for _, o := range append(slices.Clone(s.Places[i:]), s.Places[i]) {
		parts = append(parts, o.Display)
	}
	return strings.Join(parts, " → ")
}
