package engine

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/filetest"
)

// TestInitArgs checks that an engine gets a statically linked init program of this machine if it
// has none.
func TestInitArgs(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere containers run on another machine")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "tini-static")
	for name, data := range map[string][]byte{"tini-static": enginetest.Function(t), "docker-init": []byte("no program")} {
		if err := filetest.WriteProgram(filepath.Join(dir, name), data); err != nil {
			t.Fatal(err)
		}
	}
	own := slices.ContainsFunc(podmanInits(), func(dir string) bool { _, err := os.Stat(filepath.Join(dir, "catatonit")); return err == nil })
	for _, c := range []struct {
		engine, said, path string
		want               []string
	}{
		{Docker, "", dir, []string{"--init"}},
		{Podman, "4.3.1", dir, []string{"--init", "--init-path", path}},
		{Podman, "3.4.7", dir, []string{"--init", "--init-path", path}},
		{Podman, "4.3.1 remote", dir, []string{"--init"}},
		{Podman, "4.3.1", "/none", []string{"--init"}},
		{Nerdctl, "1.7.7", dir, []string{"--init", "--init-binary", path}},
		{Nerdctl, "1.7.7", "/none", []string{"--init"}},
	} {
		if c.engine == Podman && own {
			c.want = []string{"--init"}
		}
		if got := (&Engine{name: c.engine}).initArgs([]string{"PATH=" + c.path}, c.said); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}
