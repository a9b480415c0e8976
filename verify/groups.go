package verify

// impossible reports whether no signatures could satisfy several groups, since too few are listed
// in all of them.
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

// apart reports whether each group can be given as many signers as it needs, so that nobody
// stands for two: who is listed in two groups signs for one of them.
func apart(groups []Evidence) bool {
	if len(groups) < 2 {
		return true
	}
	var slots [][]string // of each place to be filled: who could fill it
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

// Apart is how many slots can be filled where each has a list of who could fill it, and nobody
// fills two.
func Apart(slots [][]string) int {
	n := 0
	given := map[string]int{} // the slot that each signer fills
	for i := range slots {
		if fill(slots, i, given, map[string]bool{}) {
			n++
		}
	}
	return n
}

// fill finds a signer for a slot; whoever has another may have to move to a further one.
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

// Signatory tells who made a signature that counts from others: a key, or an identity by the word
// of an issuer.
func (s Signature) Signatory() string {
	if s.Identity != "" {
		return s.Identity + "\n" + s.Issuer
	}
	return s.Key
}
