package pages

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// othersFlags lists flags of other programs that the pages name.
func othersFlags() []string {
	return []string{
		"new-bundle-format", "dir", // cosign
		"rm", "init", "read-only", "cap-drop", "security-opt", "privileged", "log-driver", // docker and podman
		"map-root-user",     // unshare
		"pid",               // prlimit
		"artifact-platform", // oras
	}
}

// TestFlagsOnThePages compares the flags of all commands with those that the README and the pages
// of docs name in code. A page names each flag, and each flag that a page names exists.
func TestFlagsOnThePages(t *testing.T) {
	t.Parallel()
	krmcat, named := build(t), map[string]string{} // named: the page of each flag
	code, flag := regexp.MustCompile("`[^`\n]+`"), regexp.MustCompile("[` ]--([a-z][a-z0-9-]*)")
	for name, text := range guides(t) {
		for _, c := range code.FindAllString(text, -1) {
			for _, m := range flag.FindAllStringSubmatch(c, -1) {
				named[m[1]] = name
			}
		}
	}
	known := map[string]bool{}
	for _, command := range commandsOf(t, krmcat, nil) {
		for _, flag := range flagsOf(t, krmcat, command) {
			known[flag] = true
			if named[flag] == "" {
				t.Errorf("no page names --%s of krmcat %s", flag, strings.Join(command, " "))
			}
		}
	}
	for flag, name := range named {
		if !known[flag] && !slices.Contains(othersFlags(), flag) {
			t.Errorf("%s names --%s, but no command of krmcat has this flag", name, flag)
		}
	}
}

// guides returns the pages for users by name: the README and the pages below docs, except
// decisions, which also describe the past.
func guides(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{"README.md": page(t, "README.md")}
	for _, name := range markdown(t) {
		if strings.HasPrefix(name, "docs/") && !strings.HasPrefix(name, "docs/adr/") {
			out[name] = page(t, name)
		}
	}
	return out
}

// commandsOf lists the commands below one of krmcat's that have no commands below them.
func commandsOf(t *testing.T, krmcat string, above []string) [][]string {
	t.Helper()
	var out [][]string
	lists := regexp.MustCompile(`(?m)^(?:Commands|Other commands).*:\n((?:  .*\n)+)`)
	for _, list := range lists.FindAllStringSubmatch(helpOf(t, krmcat, above), -1) {
		for line := range strings.Lines(list[1]) {
			if name := strings.Fields(line)[0]; name != "help" {
				out = append(out, commandsOf(t, krmcat, append(slices.Clone(above), name))...)
			}
		}
	}
	if len(out) == 0 {
		return [][]string{above}
	}
	return out
}

func flagsOf(t *testing.T, krmcat string, command []string) []string {
	t.Helper()
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^  (?:-[a-z],|   ) --([a-z][a-z0-9-]*)`).FindAllStringSubmatch(helpOf(t, krmcat, command), -1) {
		out = append(out, m[1])
	}
	if !slices.Contains(out, "verbose") { // every command has this flag
		t.Fatalf("krmcat %s has no flags", strings.Join(command, " "))
	}
	return out
}

func helpOf(t *testing.T, krmcat string, command []string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), krmcat, append(slices.Clone(command), "--help")...).CombinedOutput()
	if err != nil {
		t.Fatalf("krmcat %s --help: %v\n%s", command, err, out)
	}
	return string(out)
}
