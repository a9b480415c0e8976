package sandbox

import "strings"

// Refusal is one permission that a function requests and does not get.
type Refusal struct {
	Wants string // the permission: "the network"
	Flag  string // the flag that permits it, quoted for a shell; "" if no flag does
	Why   string // the reason, if there is more to say
}

// String says what is refused, and which flag permits it.
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

// Error joins the refusals.
func (e *DeniedError) Error() string {
	var parts []string
	for _, r := range e.Refusals {
		parts = append(parts, r.String())
	}
	return strings.Join(parts, "; ")
}
