package registry

// Exact reports whether the pattern is one place, without wildcards.
func (p Pattern) Exact() bool { return !p.all && !p.wild && p.place.Tag == p.exactTag() }

// exactTag is the tag where it has no wildcard.
func (p Pattern) exactTag() string {
	for _, r := range p.place.Tag {
		if r == '*' {
			return ""
		}
	}
	return p.place.Tag
}
