//go:build unix

package files_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/files"
	"github.com/krmcat/krmcat/internal/failure"
)

// crashing is the variable that has this test program write a change and kill itself.
const crashing = "KRMCAT_TEST_CRASH"

func TestMain(m *testing.M) {
	if at, ok := os.LookupEnv(crashing); ok {
		crash(at)
	}
	os.Exit(m.Run())
}

// crash changes the directory of the arguments, and is killed before the step of a number.
func crash(at string) {
	left, _ := strconv.Atoi(at)
	tree, err := files.Read(context.Background(), os.Args[1], files.Options{})
	if err != nil {
		panic(err)
	}
	c, err := tree.Change(rewritten(tree))
	if err != nil {
		panic(err)
	}
	c.OnStep(func(string) {
		if left--; left < 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	if err := c.Apply(context.Background()); err != nil {
		panic(err)
	}
	os.Exit(0)
}

func cm(name, data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  a: " + data + "\n"
}

// threeFiles is a directory in which rewritten changes, removes and makes files.
func threeFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "change.yaml"), cm("change", "old"))
	write(t, filepath.Join(dir, "sub/change.yaml"), cm("below", "old"))
	write(t, filepath.Join(dir, "remove.yaml"), cm("remove", "old"))
	write(t, filepath.Join(dir, "keep.yaml"), cm("keep", "old"))
	return dir
}

func rewritten(tree *files.Tree) []*yaml.RNode {
	items := []*yaml.RNode{yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new, namespace: made}\n")}
	for _, item := range tree.Items() {
		switch item.GetName() {
		case "remove":
			continue
		case "change", "below":
			item.SetDataMap(map[string]string{"a": "new"})
		}
		items = append(items, item)
	}
	return items
}

// contents returns the files of a directory, and its directories.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if e.IsDir() {
			all[rel] = "a directory"
			return nil
		}
		data, err := os.ReadFile(path)
		all[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCrash: wherever a change is killed, reading restores all old files, or finds all new ones.
func TestCrash(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	before := contents(t, threeFiles(t))
	var after map[string]string
	seen := map[bool]int{}
	for at := 0; ; at++ {
		dir := threeFiles(t)
		cmd := exec.Command(self, dir)
		cmd.Env = append(os.Environ(), crashing+"="+strconv.Itoa(at))
		out, err := cmd.CombinedOutput()
		if err == nil {
			after = contents(t, dir)
			break
		}
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.Exited() {
			t.Fatalf("%v\n%s", err, out)
		}
		tree := read(t, dir)
		got := contents(t, dir)
		left := got[".krmcat-change"] != ""
		for name := range got {
			if strings.HasPrefix(name, ".krmcat-change") {
				delete(got, name) // before the journal is written, the next change sweeps them
			}
		}
		if !maps.Equal(got, before) {
			t.Errorf("killed before step %d: got %v", at, got)
		}
		seen[len(tree.Notes()) > 0]++
		c := change(t, tree, rewritten(tree))
		if err := c.Apply(t.Context()); err != nil {
			t.Errorf("killed before step %d, left %v: %v", at, left, err)
		}
		if got := contents(t, dir); got[".krmcat-change"] != "" || got["change.yaml"] == before["change.yaml"] {
			t.Errorf("killed before step %d, and changed again: got %v", at, got)
		}
	}
	if seen[false] < 4 || seen[true] < 5 {
		t.Errorf("the steps before the journal and after it were %v", seen)
	}
	if len(after) != 7 || after["made/configmap_new.yaml"] == "" || after["sub/change.yaml"] != cm("below", "new") {
		t.Errorf("got %v", after)
	}
}

// TestConflicts: a file that is not as it was read is not written, nor any other.
func TestConflicts(t *testing.T) {
	t.Parallel()
	for name, meddle := range map[string]func(dir string) error{
		"changed": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "sub/change.yaml"), []byte("mine"), 0o644)
		},
		"removed": func(dir string) error { return os.Remove(filepath.Join(dir, "remove.yaml")) },
		"made": func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "made"), 0o755),
				os.WriteFile(filepath.Join(dir, "made/configmap_new.yaml"), []byte("mine"), 0o644))
		},
		"a link now": func(dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, "change.yaml"), filepath.Join(dir, "x")), os.Symlink("x", filepath.Join(dir, "change.yaml")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := threeFiles(t)
			tree := read(t, dir)
			c := change(t, tree, rewritten(tree))
			if err := meddle(dir); err != nil {
				t.Fatal(err)
			}
			before := contents(t, dir)
			err := c.Apply(t.Context())
			if conflict := (*files.ConflictError)(nil); !errors.As(err, &conflict) {
				t.Errorf("got %v", err)
			}
			if got := contents(t, dir); !maps.Equal(got, before) {
				t.Errorf("got %v, want %v", got, before)
			}
		})
	}
}

// TestMeddledWhileInterrupted: what another program wrote after a crash is not overwritten.
func TestMeddledWhileInterrupted(t *testing.T) {
	t.Parallel()
	dir := interrupted(t)
	write(t, filepath.Join(dir, "change.yaml"), "mine")
	before := contents(t, dir)
	_, err := files.Recover(t.Context(), dir)
	if bad := (*files.RecoverError)(nil); !errors.As(err, &bad) || len(bad.Files) != 1 || bad.Files[0] != "change.yaml" {
		t.Errorf("got %v", err)
	}
	if got := contents(t, dir); !maps.Equal(got, before) {
		t.Errorf("got %v, want %v", got, before)
	}
}

// interrupted returns a directory whose change was killed after some renames.
func interrupted(t *testing.T) string {
	t.Helper()
	dir := threeFiles(t)
	tree := read(t, dir)
	c := change(t, tree, rewritten(tree))
	stop, renames := errors.New("stop"), 0
	copied := t.TempDir()
	c.OnStep(func(name string) {
		if name == "rename" {
			if renames++; renames == 3 {
				if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
					t.Error(err)
				}
				panic(stop)
			}
		}
	})
	func() {
		defer func() {
			if recover() != any(stop) {
				t.Error("not interrupted")
			}
		}()
		_ = c.Apply(t.Context())
	}()
	return dir
}

// TestCopiedState: a journal that came with a copy of the directory is not trusted.
func TestCopiedState(t *testing.T) {
	t.Parallel()
	dir := interrupted(t)
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(copied, ".krmcat-change"), 0o700); err != nil {
		t.Fatal(err)
	}
	before := contents(t, copied)
	if _, err := files.Read(t.Context(), copied, files.Options{}); !errors.Is(err, failure.Untrusted) {
		t.Errorf("got %v", err)
	}
	if got := contents(t, copied); !maps.Equal(got, before) {
		t.Errorf("got %v, want %v", got, before)
	}
}

// TestCancelled: a change that is cancelled between two renames leaves the old files.
func TestCancelled(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"stage", "journal", "mkdir", "rename"} {
		dir := threeFiles(t)
		tree := read(t, dir)
		c := change(t, tree, rewritten(tree))
		ctx, cancel := context.WithCancel(t.Context())
		c.OnStep(func(name string) {
			if name == at {
				cancel()
			}
		})
		before := contents(t, dir)
		if err := c.Apply(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %s: got %v", at, err)
		}
		if got := contents(t, dir); !maps.Equal(got, before) {
			t.Errorf("cancelled at %s: got %v", at, got)
		}
	}
}
