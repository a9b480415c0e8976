package verify

// impossible reports whether several groups cannot be satisfied, because they list too few
// different signers.
func impossible(groups []*Signed) bool {
	var slots [][]string
	for _, g := range groups {
		l, ok := g.Judge.(Listing)
		if !ok {
			return false
		}
		who, needed, all := l.Listed()
		if !all {
			return false
		}
		for range max(needed, 1) {
			slots = append(slots, who)
		}
	}
	return Apart(slots) < len(slots)
}

// apart reports whether each group has its required number of signers, with no signer counted for
// two groups.
func apart(groups []Evidence) bool {
	if len(groups) < 2 {
		return true
	}
	var slots [][]string // the possible signers for each required signature
	for _, g := range groups {
		var who []string
		for _, s := range g.Signatures {
			if s.Verified {
				who = append(who, s.Signatory())
			}
		}
		for range max(g.needed, 1) {
			slots = append(slots, who)
		}
	}
	return Apart(slots) == len(slots)
}

// Apart returns how many slots can be filled with different entries. Each slot is the list of its
// possible entries. (It is a maximum bipartite matching.)
func Apart(slots [][]string) int {
	n := 0
	given := map[string]int{} // the slot of each signer
	for i := range slots {
		if fill(slots, i, given, map[string]bool{}) {
			n++
		}
	}
	return n
}

// fill finds a signer for a slot, and moves other signers to further slots if necessary.
func fill(slots [][]string, i int, given map[string]int, tried map[string]bool) bool {
	for _, who := range slots[i] {
		if tried[who] {
			continue
		}
		tried[who] = true
		other, taken := given[who]
		if !taken || fill(slots, other, given, tried) {
			given[who] = i
			return true
		}
	}
	return false
}

// Signatory returns a value that identifies the signer of a verified signature: the key, or the
// identity with its issuer.
func (s Signature) Signatory() string {
	if s.Identity != "" {
		return s.Identity + "\n" + s.Issuer
	}
	return s.Key
}
