package failure

import (
	"regexp"
	"strings"
)

// ShellWord quotes a word for a shell. Users copy flags out of errors, and the words in them
// may come from content that is not trusted.
func ShellWord(word string) string {
	if regexp.MustCompile(`^[\w@%+=:,./-]+$`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
