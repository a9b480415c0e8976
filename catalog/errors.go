package catalog

import (
	"strconv"
	"unicode/utf8"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// SyntaxError is an error in a catalog, with its position.
type SyntaxError = yamldoc.Error

// SyntaxErrors is all errors in one catalog. It unwraps to each *SyntaxError.
type SyntaxErrors = yamldoc.Errors

// plain returns a name for a message, quoted only if necessary. A group has up to 253 characters.
func plain(s string) string {
	const most = 400
	if len(s) > most {
		at := most
		for at > 0 && !utf8.RuneStart(s[at]) {
			at--
		}
		s = s[:at] + "…"
	}
	if q := strconv.Quote(s); q != `"`+s+`"` {
		return q
	}
	return s
}
