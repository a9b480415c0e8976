package pages

import (
	"strings"
	"testing"
)

// TestConformanceIsTested compares the tables in docs/conformance.md with the tests that they name:
// every rule has tests that exist, or is to come.
func TestConformanceIsTested(t *testing.T) {
	t.Parallel()
	functions, rows := testFunctions(t), 0
	for line := range strings.Lines(page(t, "docs/conformance.md")) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| rule |") {
			continue
		}
		if rows++; len(cells) != 3 {
			t.Errorf("the row has %d cells, want 3: %s", len(cells), line)
			continue
		}
		differs := strings.Contains(cells[0], "Differs: ")
		switch status := strings.TrimSpace(cells[2]); {
		case status == "to come" && cells[1] == "–" && !differs:
		case status == "holds" && !differs, status == "differs" && differs:
			testsOf(t, functions, cells[1])
		default:
			t.Errorf("the status is %q: %s", status, line)
		}
	}
	if rows < 50 {
		t.Errorf("found only %d rows", rows)
	}
}
