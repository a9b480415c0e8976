package cli

import (
	_ "embed"
	"strings"
) // the examples of the help

//go:embed examples.txt
var exampleText string

// examples are those of a command, a line each, with comments that a shell takes as such; "" for none.
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
