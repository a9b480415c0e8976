package catalog

import (
	"strconv"
	"unicode/utf8"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// SyntaxError is something wrong in a catalog, at a place.
type SyntaxError = yamldoc.Error

// SyntaxErrors is everything that is wrong in one catalog. It unwraps to each
// *SyntaxError.
type SyntaxErrors = yamldoc.Errors

// plain repeats a name in a message: quoted only where it has to be. A group has up to 253
// characters.
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
