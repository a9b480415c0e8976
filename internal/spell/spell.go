package spell

import "strings"

const (
	maxDistance = 2  // edits between two spellings of one name
	maxSpelled  = 63 // bytes of a name that is worth comparing
)

// Nearest returns the known name that a written one most likely means, "" for none.
func Nearest(written string, known []string) string {
	best, at := "", maxDistance+1
	for _, k := range known {
		if d := distance(written, k); d < at {
			best, at = k, d
		}
	}
	return best
}

// distance returns the number of edits between two names, without regard to case. It is more than
// maxDistance if they are too different to be the same name misspelt.
func distance(a, b string) int {
	const far = maxDistance + 1
	if len(a) > maxSpelled || len(b) > maxSpelled || max(len(a), len(b))-min(len(a), len(b)) > maxDistance {
		return far
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	if a == b {
		return 0
	}
	if max(len(a), len(b)) <= 2*maxDistance {
		return shortDistance(a, b)
	}
	return levenshtein(a, b)
}

// shortDistance allows one edit in names that two edits would replace entirely, and none in a name
// of one letter.
func shortDistance(a, b string) int {
	if d := levenshtein(a, b); d <= 1 && d < max(len(a), len(b)) {
		return d
	}
	return maxDistance + 1
}

// levenshtein stops early, above maxDistance, if a whole row is.
func levenshtein(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
			least = min(least, cost)
		}
		if least > maxDistance {
			return least
		}
	}
	return row[len(b)]
}
