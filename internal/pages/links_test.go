package pages

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// markdown lists the README, the other pages of the root, and all pages below docs.
func markdown(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"}
	err := fs.WalkDir(os.DirFS(top), "docs", func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".md") {
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) < 30 {
		t.Fatalf("%d pages: %v", len(names), err)
	}
	return names
}

// prose returns a page without its code: neither blocks nor spans of code.
func prose(text string) string {
	text = regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(text, "")
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllStringFunc(text, func(code string) string {
		return strings.NewReplacer("[", "", "]", "", "(", "", ")", "").Replace(code)
	})
}

// anchors are the fragments by which the headings of a page are linked to, as GitHub makes them.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ +(.+)$`).FindAllStringSubmatch(prose(text), -1) {
		title := regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(m[1], "]")
		kept := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(title), "")
		out[strings.ReplaceAll(strings.TrimSpace(kept), " ", "-")] = true
	}
	return out
}

// TestLinksHaveTargets follows every relative link of every page to its file and its heading.
func TestLinksHaveTargets(t *testing.T) {
	t.Parallel()
	link, followed := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`), 0
	for _, name := range markdown(t) {
		for _, m := range link.FindAllStringSubmatch(prose(page(t, name)), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			followed++
			file := name
			if m[1] != "" {
				file = path.Join(path.Dir(name), m[1])
			}
			if _, err := os.Stat(filepath.Join(top, filepath.FromSlash(file))); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
				continue
			}
			if m[2] != "" && !anchors(page(t, file))[m[2]] {
				t.Errorf("%s links to %s#%s: no heading of %s has this anchor", name, m[1], m[2], file)
			}
		}
	}
	if followed < 100 {
		t.Errorf("found only %d links", followed)
	}
}

// TestDecisionsAreListed checks that the index lists all decisions, and that their numbers differ.
func TestDecisionsAreListed(t *testing.T) {
	t.Parallel()
	index, numbers := page(t, "docs/adr/README.md"), map[string]string{}
	for _, name := range markdown(t) {
		base := path.Base(name)
		if path.Dir(name) != "docs/adr" || base == "README.md" {
			continue
		}
		if !strings.Contains(index, "("+base+")") {
			t.Errorf("docs/adr/README.md does not list %s", base)
		}
		number, _, _ := strings.Cut(base, "-")
		if other := numbers[number]; other != "" {
			t.Errorf("%s and %s have the same number", other, base)
		}
		numbers[number] = base
	}
}
