package sandbox

import (
	"regexp"
	"strings"
)

// Refusal is one thing that a function wants and may not have.
type Refusal struct {
	Wants string // "the network"
	Flag  string // "--network", as a shell reads it; "" where no flag allows it
	Why   string // where there is more to say
}

func (r Refusal) String() string {
	text := "it wants " + r.Wants
	switch {
	case r.Flag != "":
		text += ", which needs " + r.Flag
	case r.Why == "":
		text += ", which no flag allows"
	}
	if r.Why != "" {
		text += ": " + r.Why
	}
	return text
}

// DeniedError lists every refusal of one function.
type DeniedError struct{ Refusals []Refusal }

func (e *DeniedError) Error() string {
	var parts []string
	for _, r := range e.Refusals {
		parts = append(parts, r.String())
	}
	return strings.Join(parts, "; ")
}

// shellWord writes a word as a shell reads it: flags that allow something are copied, and
// what they name may be a stranger's.
func shellWord(word string) string {
	if regexp.MustCompile(`^[\w@%+=:,./-]+$`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
