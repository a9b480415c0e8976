package pages

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCompositionsPageRuns writes the files of docs/compositions.md and runs its commands.
func TestCompositionsPageRuns(t *testing.T) {
	t.Parallel()
	krmcat, dir := build(t), t.TempDir()
	ran := 0
	for _, b := range blocks(page(t, "docs/compositions.md")) {
		if _, name, ok := strings.Cut(b.info, "file="); ok {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		command, want, ok := strings.Cut(b.text, "\n")
		if b.info != "console" || !ok {
			t.Errorf("line %d: no test checks this block", b.line)
			continue
		}
		ran++
		cmd := exec.CommandContext(t.Context(), krmcat, strings.Fields(command)[2:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(dir, ".config"))
		var out, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("line %d: %s: %v\n%s", b.line, command, err, stderr.String())
		}
		if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(out.String())); diff != "" {
			t.Errorf("line %d: %s\n%s", b.line, command, diff)
		}
	}
	if ran < 3 {
		t.Errorf("only %d commands were run", ran)
	}
}
