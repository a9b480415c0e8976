package cli

import (
	_ "embed"
	"strings"
) // the examples of the help

//go:embed examples.txt
var exampleText string

// examples returns the examples of a command, one in each line, with comments of the shell; "" for
// none.
func examples(command string) string {
	_, list, found := strings.Cut(exampleText, "\n== "+command+"\n")
	if !found {
		return ""
	}
	list, _, _ = strings.Cut(list, "\n== ")
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSpace(list), "\n") {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}
