package verify

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
				who = append(who, s.signer())
			}
		}
		for range max(g.needed, 1) {
			slots = append(slots, who)
		}
	}
	given := map[string]int{} // the slot that each signer fills
	for i := range slots {
		if !fill(slots, i, given, map[string]bool{}) {
			return false
		}
	}
	return true
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

// signer is who made a signature that counts: a key, or an identity by the word of an issuer.
func (s Signature) signer() string {
	if s.Identity != "" {
		return s.Identity + "\n" + s.Issuer
	}
	return s.Key
}
