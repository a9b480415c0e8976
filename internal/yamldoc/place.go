package yamldoc

import (
	"fmt"
	"slices"
	"strings"
)

// Place is the path of a value in a document; nil is the whole document. A place is immutable. Its
// text is made only for an error.
type Place struct {
	up   *Place
	name string // of a field
	item int    // of an entry of a list; -1 for a field
}

// Field returns the place of a field of the mapping at p.
func (p *Place) Field(name string) *Place { return &Place{up: p, name: name, item: -1} }

// Item returns the place of an entry of the list at p.
func (p *Place) Item(i int) *Place { return &Place{up: p, item: i} }

// Up returns the place of the mapping or list that p is in.
func (p *Place) Up() *Place { return p.up }

// String returns a place as spec.ports[1]. Names with other characters are quoted:
// metadata.labels["a.b/c"]. The middle of a very long path is left out.
func (p *Place) String() string {
	const most = 20
	var steps []*Place
	for ; p != nil; p = p.up {
		steps = append(steps, p)
	}
	slices.Reverse(steps)
	var b strings.Builder
	for i, s := range steps {
		switch {
		case i == most/2 && len(steps) > most:
			b.WriteString("…")
		case i > most/2 && i < len(steps)-most/2:
		case s.item >= 0:
			fmt.Fprintf(&b, "[%d]", s.item)
		case !plainName(s.name):
			fmt.Fprintf(&b, "[%s]", Quote(s.name))
		case b.Len() > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// plainName reports whether a name is unambiguous within a path.
func plainName(s string) bool {
	other := func(r rune) bool {
		return r != '_' && r != '-' && r != '$' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	return s != "" && len(s) <= maxQuoted && !strings.ContainsFunc(s, other)
}
