package pages

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPagesBeginWithContents checks that each page for users links to all of its sections, above
// the first one.
func TestPagesBeginWithContents(t *testing.T) {
	t.Parallel()
	for name, text := range guides(t) {
		text = strings.Replace(prose(text), "\n## Contents\n", "\n", 1)
		contents, sections, _ := strings.Cut(text, "\n## ")
		for _, title := range regexp.MustCompile(`(?m)^## .+$`).FindAllString("## "+sections, -1) {
			for anchor := range anchors(title + "\n") {
				if !strings.Contains(contents, "(#"+anchor+")") {
					t.Errorf("%s: the contents on top do not list %q", name, title)
				}
			}
		}
	}
}

// TestLinesOfPagesAreShort checks that lines have at most 100 characters. Code, rows of tables and
// longer words are exempt.
func TestLinesOfPagesAreShort(t *testing.T) {
	t.Parallel()
	for _, name := range markdown(t) {
		code := false
		for i, line := range strings.Split(page(t, name), "\n") {
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			long := slices.ContainsFunc(strings.Fields(line), func(w string) bool { return utf8.RuneCountInString(w) > 80 })
			if n := utf8.RuneCountInString(line); n > 100 && !code && !long && !strings.HasPrefix(line, "|") {
				t.Errorf("%s:%d has %d characters", name, i+1, n)
			}
		}
	}
}

// TestFilesOnPagesAreNamed checks that the text between a file and the block before it names the
// file. A reader does not see the info string of the block.
func TestFilesOnPagesAreNamed(t *testing.T) {
	t.Parallel()
	for name, text := range guides(t) {
		lines, before := strings.Split(text, "\n"), 0
		for _, b := range blocks(text) {
			_, file, ok := strings.Cut(b.info, "file=")
			if ok && !strings.Contains(strings.Join(lines[before:b.line-2], "\n"), "`"+file+"`") {
				t.Errorf("%s:%d: the text above does not name the file %s", name, b.line, file)
			}
			before = b.line - 1 + strings.Count(b.text, "\n")
		}
	}
}
