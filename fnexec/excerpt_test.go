package fnexec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/fnexec"
)

// numbered returns n different lines.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// TestFlood checks that an error shows little of a long stderr, and that none is lost.
func TestFlood(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 40_000)
	for name, c := range map[string]struct {
		stderr string
		want   []string
		never  string
		most   int // lines of the whole error
		cut    bool
	}{
		"nothing":                 {stderr: " \n", most: 1},
		"a few lines":             {stderr: numbered(30), want: []string{"line 1\n", "line 15\n", "line 30"}, most: 31},
		"one line more than fits": {stderr: numbered(31), want: []string{"line 6\n"}, most: 32},
		"many lines": {
			stderr: numbered(1062), want: []string{"stderr: line 1\n", "line 5\n  … 1032 lines more …\n  line 1038\n", "line 1062"},
			most: 32, cut: true,
		},
		"one line": {stderr: strings.Repeat("cannot fork\n", 900), want: []string{"stderr: cannot fork (the same line 900 times)"}, most: 2},
		"lines among others": {
			stderr: numbered(3) + strings.Repeat("cannot fork\n", 900) + numbered(40),
			want:   []string{"cannot fork (the same line 900 times)\n  line 1\n  … 14 lines more …\n  line 16\n"}, most: 32, cut: true,
		},
		"a long line":  {stderr: "begin " + long + " the cause", want: []string{"stderr: begin x", " characters more … ", "x the cause"}, never: long, most: 2, cut: true},
		"wide letters": {stderr: strings.Repeat("ü", 1000), want: []string{"… 720 characters more …"}, most: 2, cut: true},
	} {
		err := &fnexec.FunctionError{Stderr: c.stderr}
		got := err.Error()
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in:\n%s", name, want, got)
			}
		}
		if c.never != "" && strings.Contains(got, c.never) {
			t.Errorf("%s: it is there as a whole", name)
		}
		if n := strings.Count(got, "\n") + 1; n > c.most || len(got) > 12_000 {
			t.Errorf("%s: %d lines, %d bytes", name, n, len(got))
		}
		full := err.Full()
		if (full != "") != c.cut || c.cut && strings.Count(full, "\n") != strings.Count(strings.TrimRight(c.stderr, "\n"), "\n")+1 {
			t.Errorf("%s: in full it is %q", name, full)
		}
	}
}

// TestFloodOfDetail checks the same for the text of a script's failure.
func TestFloodOfDetail(t *testing.T) {
	t.Parallel()
	got := (&fnexec.ExitError{Code: 1, Detail: "fail: " + strings.Repeat("x", 40_000) + " the end"}).Error()
	if len(got) > 400 || !strings.HasPrefix(got, "exit code 1: fail: xxx") || !strings.HasSuffix(got, "x the end") {
		t.Errorf("got %d bytes: %.500s", len(got), got)
	}
}
