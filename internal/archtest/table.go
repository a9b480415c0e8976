package archtest

import (
	"fmt"
	"path"
	"strings"
)

// Rules is what ARCHITECTURE.md allows.
type Rules struct {
	Ours    []Row // package → packages of this module that it may import
	Outside []Row // outside package or standard library package → who may import it
	Calls   []Row // name such as os.Getenv → who may use it
}

// Row is one line of a table: the names that it is for, and what they allow.
type Row struct {
	Keys    []string // patterns, see matches
	Allowed []string // patterns; empty for nobody
}

// The marks on the page, each before a table.
const (
	markOurs    = "<!-- archtest: ours -->"
	markOutside = "<!-- archtest: outside -->"
	markCalls   = "<!-- archtest: calls -->"
)

// ParseRules reads the three tables of a page. In each table, the first column with words in
// backquotes has the keys, and the next one the patterns that are allowed. A missing table is an
// error, so that no rule is lost unnoticed.
func ParseRules(page string) (Rules, error) {
	var r Rules
	for mark, rows := range map[string]*[]Row{markOurs: &r.Ours, markOutside: &r.Outside, markCalls: &r.Calls} {
		var err error
		if *rows, err = parseTable(page, mark); err != nil {
			return Rules{}, err
		}
	}
	return r, nil
}

func parseTable(page, mark string) ([]Row, error) {
	_, after, found := strings.Cut(page, mark)
	if !found {
		return nil, fmt.Errorf("the page has no table marked %s", mark)
	}
	var rows []Row
	for line := range strings.Lines(strings.TrimLeft(after, "\n")) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			break
		}
		if row, ok := parseRow(line); ok {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("the table marked %s has no rows", mark)
	}
	return rows, nil
}

// parseRow reads a line. It returns false for the heading and the line below it.
func parseRow(line string) (Row, bool) {
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i, cell := range cells {
		keys := quoted(cell)
		if len(keys) == 0 || i+1 == len(cells) {
			continue
		}
		return Row{Keys: keys, Allowed: quoted(cells[i+1])}, true
	}
	return Row{}, false
}

// quoted returns the words of a cell that are in backquotes.
func quoted(cell string) []string {
	var words []string
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			words = append(words, part)
		}
	}
	return words
}

// matches reports whether a name matches one of the patterns: the name itself, `x/...` for x and
// everything below it, `...` for everything, and `*` for any one part of a path.
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if tree, ok := strings.CutSuffix(p, "..."); ok {
			tree = strings.TrimSuffix(tree, "/")
			if tree == "" || name == tree || strings.HasPrefix(name, tree+"/") {
				return true
			}
			continue
		}
		if ok, err := path.Match(p, name); err == nil && ok {
			return true
		}
	}
	return false
}

// find returns the most specific row for a name: an exact name before a tree, and a longer tree
// before a shorter one.
func find(rows []Row, name string) (Row, bool) {
	var best Row
	precision := -1
	for _, row := range rows {
		for _, key := range row.Keys {
			if n := len(strings.TrimSuffix(key, "...")); n > precision && matches([]string{key}, name) {
				best, precision = row, n
			}
		}
	}
	return best, precision >= 0
}
