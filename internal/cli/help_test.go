package cli_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestHelp compares the help of every command with testdata/help. `go test ./internal/cli -run
// TestHelp -update` updates it.
func TestHelp(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	helpOf(t, seen)
	files, err := filepath.Glob("testdata/help/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !seen[f] {
			t.Errorf("%s is of no command", f)
		}
	}
}

var update = flag.Bool("update", false, "write testdata/help")

// helpOf compares the help of a command and its subcommands.
func helpOf(t *testing.T, seen map[string]bool, command ...string) {
	t.Helper()
	code, text, errs := call(t.Context(), t, t.TempDir(), append(command, "--help")...)
	if code != 0 || errs != "" {
		t.Fatalf("%q: exit code %d: %s", command, code, errs)
	}
	file := filepath.Join("testdata", "help", strings.Join(append([]string{"krmcat"}, command...), "-")+".txt")
	seen[file] = true
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%q: %s", command, diff)
	}
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 100 {
			t.Errorf("%q: more than 100 columns: %s", command, line)
		}
		if strings.TrimRight(line, " \n") != strings.TrimRight(line, "\n") {
			t.Errorf("%q: a line ends in a space: %q", command, line)
		}
	}
	if !strings.Contains(text, "\nExamples:\n") {
		t.Errorf("%q has no examples", command)
	}
	for _, list := range regexp.MustCompile(`(?m)^(?:Commands|Other commands).*:\n((?:  .*\n)+)`).FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(list[1]) {
			helpOf(t, seen, append(command[:len(command):len(command)], strings.Fields(line)[0])...)
		}
	}
}
