package pipeline

import (
	"slices"
	"strings"
)

// stack is what is being read, the outermost first.
type stack struct{ places []place }

// enter remembers that something is being read, so that it cannot be asked for from within.
func (s *stack) enter(at place) (leave func(), err error) {
	if s.reading(at) {
		return nil, &SyntaxError{Where: at.display, Msg: "cycle: " + s.cycle(at)}
	}
	s.places = append(s.places, at)
	return func() { s.places = s.places[:len(s.places)-1] }, nil
}

func (s *stack) reading(at place) bool {
	return slices.ContainsFunc(s.places, func(o place) bool { return o.dir == at.dir })
}

// cycle shows the way from something back to itself.
func (s *stack) cycle(at place) string {
	i := slices.IndexFunc(s.places, func(o place) bool { return o.dir == at.dir })
	var parts []string
	for _, o := range append(slices.Clone(s.places[i:]), s.places[i]) {
		parts = append(parts, o.display)
	}
	return strings.Join(parts, " → ")
}
