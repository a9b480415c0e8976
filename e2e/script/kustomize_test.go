package script

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/e2e/internal/program"
	"github.com/krmcat/krmcat/internal/livetest"
)

// TestKustomizeFlags checks that krmcat render has every flag of `kustomize build`: the same name,
// with a value where kustomize takes one.
func TestKustomizeFlags(t *testing.T) {
	t.Parallel()
	const help = "build --help"
	results := livetest.Open(t, "testdata/kustomize-help.txtar")
	theirs, _ := results.Get(help)
	if livetest.On() {
		var err error
		if theirs, err = exec.Command(livetest.Tool(t, "kustomize"), strings.Fields(help)...).Output(); err != nil {
			t.Fatal(err)
		}
		if err := results.Same("", map[string][]byte{help: theirs}, nil); err != nil {
			t.Fatal(err)
		}
	}
	cmd := program.Command(t.Context(), t, "help", "render")
	cmd.Dir = t.TempDir()
	ours, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^ +(?:-(\w), )?--([\w-]+)( string\w*)?`).FindAllSubmatch(theirs, -1)
	if len(flags) < 15 {
		t.Fatalf("kustomize has only %d flags", len(flags))
	}
	for _, f := range flags {
		want := `(?m)^ +--` + string(f[2])
		if len(f[1]) > 0 {
			want = `(?m)^ +-` + string(f[1]) + `, --` + string(f[2])
		}
		if len(f[3]) > 0 {
			want += ` [A-Z]`
		} else {
			want += `(?:  |,|$)`
		}
		if !regexp.MustCompile(want).Match(ours) {
			t.Errorf("krmcat render has no flag %s", f[0])
		}
	}
}
