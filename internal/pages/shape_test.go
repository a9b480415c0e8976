package pages

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPagesBeginWithContents: above its first section, each page for users links to all of its
// sections.
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

// TestLinesOfPagesAreShort: lines have at most 100 characters, but for code, rows of tables and
// words that are longer themselves.
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

// TestFilesOnPagesAreNamed: the text between a file and the block before it says what the file is
// called, since a reader does not see what stands behind the fence.
func TestFilesOnPagesAreNamed(t *testing.T) {
	t.Parallel()
	for name, text := range guides(t) {
		lines, before := strings.Split(text, "\n"), 0
		for _, b := range blocks(text) {
			_, file, ok := strings.Cut(b.info, "file=")
			if ok && !strings.Contains(strings.Join(lines[before:b.line-2], "\n"), "`"+file+"`") {
				t.Errorf("%s:%d: nothing says that this is the file %s", name, b.line, file)
			}
			before = b.line - 1 + strings.Count(b.text, "\n")
		}
	}
}
