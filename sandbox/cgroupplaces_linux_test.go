package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// unifiedTree makes files like those of control groups v2.
func unifiedTree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestHandsOn checks that groups are made only if they have controllers and can be joined.
func TestHandsOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		control string
		procs   bool
		want    bool
	}{
		"controllers":               {"cpu memory pids\n", true, true},
		"none":                      {"\n", true, false},
		"no pids controller":        {"cpu memory\n", true, false},
		"processes cannot be moved": {"memory pids\n", false, false},
	} {
		root := unifiedTree(t, map[string]string{"cgroup.subtree_control": c.control})
		if c.procs {
			if err := os.WriteFile(filepath.Join(root, "cgroup.procs"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := handsOn(root); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestIsIn checks that a group's name is used only if it leads to this process's group.
func TestIsIn(t *testing.T) {
	t.Parallel()
	root := unifiedTree(t, map[string]string{
		"cgroup.procs": "1\n2\n", "system.slice/job/cgroup.procs": "70\n71\n",
		"named": "1:name=systemd:/x\n0::/system.slice/job\n", "top": "0::/\n", "above": "0::/../job\n", "old": "4:memory:/\n",
	})
	for _, c := range []struct {
		file string
		pid  int
		want bool
	}{
		{"named", 71, true}, {"named", 7, false}, {"top", 2, true}, {"top", 71, false},
		{"above", 71, false}, {"old", 1, false}, {"missing", 1, false},
	} {
		if got := isIn(root, filepath.Join(root, c.file), c.pid); got != c.want {
			t.Errorf("%s, %d: got %v", c.file, c.pid, got)
		}
	}
}
