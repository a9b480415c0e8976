package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/krmcat/krmcat/internal/enginetest"
)

// seenBy returns what a confined shell sees of this machine with an environment, with namespaces or
// without.
func seenBy(t *testing.T, engine Engine, environ []string, target, dir, script string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	engines, confine := []Engine{engine}, ConfineRequire
	if engine == Landlocked {
		engines, confine = []Engine{}, ConfineAuto
	}
	h := NewHost(HostOptions{Environ: append(os.Environ(), environ...), Self: self, Engines: engines})
	g, err := Allow{On: h, Confine: confine, Host: os.Environ(), Target: target}.Grant(Request{HostExec: true})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = g.Run(t.Context(), Cmd{Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir}, Streams{Stdout: &out, Stderr: &strings.Builder{}})
	if _, ran := ExitCode(err); err != nil && !ran {
		t.Fatal(err)
	}
	return out.String()
}

// TestHidden checks that secrets in unusual places are hidden.
func TestHidden(t *testing.T) {
	t.Parallel()
	root, err := os.MkdirTemp("/srv", "krmcat-test-") //nolint:usetesting // not in /tmp, which has an end of its own
	if err != nil {
		enginetest.Missing(t, "this user may write to no place that is shown: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"home/proj/cm": "open", "home/proj/.docker/config.json": "SECRET", "home/.ssh/id": "SECRET", "home/token": "SECRET", "else/kube/config": "SECRET", "else/open": "open",
	} {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text+" "), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink("home/proj", link); err != nil {
		t.Fatal(err)
	}
	home, proj := filepath.Join(root, "home"), filepath.Join(root, "home/proj")
	env := []string{"HOME=" + home, "DOCKER_CONFIG=" + proj + "/.docker", "KUBECONFIG=" + root + "/else/kube/config:" + root + "/none"}
	all := "cat " + root + "/home/token " + root + "/home/.ssh/id " + root + "/else/kube/config " + root + "/else/open " + root +
		"/home/proj/cm " + root + "/home/proj/.docker/config.json " + link + "/.docker/config.json cm .docker/config.json"
	for name, c := range map[string]struct{ target, dir, want string }{
		"a project":                        {proj, proj, "open open "},
		"through a link":                   {link, link, "open open "},
		"the home directory":               {home, "/", ""},
		"the parent of the home directory": {root, "/", "open "},
		"another working directory":        {proj, filepath.Join(root, "else"), "open open "},
	} {
		for _, engine := range []Engine{Native, Landlocked} {
			if got := seenBy(t, engine, env, c.target, c.dir, all); got != c.want {
				t.Errorf("%s, %s: it sees %q, not %q", engine, name, got, c.want)
			}
		}
	}
}

// TestLandlockedChangesNothing checks that a process without namespaces cannot change files that
// it may only read, or not even read, although its user may.
func TestLandlockedChangesNothing(t *testing.T) {
	t.Parallel()
	if landlockVersion() == 0 {
		enginetest.Missing(t, "this kernel has no Landlock")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("as it was"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := seenBy(t, Landlocked, nil, dir, dir, `cat file; chmod 777 file .; touch -d @0 file; truncate -s 0 file; echo x >>file; id -u`)
	want := "as it was" + strconv.Itoa(os.Geteuid()) + "\n"
	if os.Geteuid() == 0 {
		want = "as it was" + strconv.Itoa(nobody) + "\n"
	}
	info, err := os.Stat(file)
	if err != nil || got != want || info.Mode().Perm() != 0o644 || info.Size() != 9 || info.ModTime().Unix() == 0 {
		t.Errorf("got %q, %v, %v", got, info, err)
	}
}

// TestMountsOfFunctions checks that mounts that a function names reveal nothing that is hidden
// from it.
func TestMountsOfFunctions(t *testing.T) {
	t.Parallel()
	target := t.TempDir()
	for _, dir := range []string{"home/.docker", "open", "proj/.git"} {
		if err := os.MkdirAll(filepath.Join(target, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h := NewHost(HostOptions{Environ: []string{"HOME=" + target + "/home"}})
	if err := os.Symlink("../home", filepath.Join(target, "open/link")); err != nil {
		t.Fatal(err)
	}
	for src, want := range map[string]string{"open": "[]", ".": "[{home true}]", "home": "", "home/.docker": "", "open/link": ""} {
		a := Allow{On: h, Target: target}
		r := Request{Mounts: []Mount{{Src: src, Dst: "/x"}}}
		g, err := a.Grant(r)
		if (want != "") != (err == nil) {
			t.Errorf("%s: got %v", src, err)
		}
		if mounts, err := g.Mounts(); want != "" && (err != nil || fmt.Sprint(mounts[0].Hidden) != want) {
			t.Errorf("%s: got %v, %v", src, mounts, err)
		}
		a.Mounts = []Mount{{Src: src, Dst: "/y"}} // allowed by the user
		if g, err = a.Grant(r); err != nil {
			t.Fatal(err)
		}
		if mounts, err := g.Mounts(); err != nil || mounts[0].Hidden != nil {
			t.Errorf("%s, as the user says: got %v, %v", src, mounts, err)
		}
	}
	a := Allow{On: h, Target: target + "/proj"}
	if _, err := a.Grant(Request{Mounts: []Mount{{Src: ".git", Dst: "/x"}}}); err == nil {
		t.Error("the git directory can be mounted")
	}
	g, err := a.Grant(Request{Mounts: []Mount{{Src: ".", Dst: "/x/y"}}})
	if err != nil {
		t.Fatal(err)
	}
	ops, err := g.mountOps(target, Limits{})
	if err != nil || len(ops) != 2 || ops[1].kind != opTmpfs || ops[1].dst != "/x/y/.git" || ops[1].write {
		t.Errorf("got %v, %v", ops, err)
	}
}

// TestHiddenAtOnce checks that concurrent functions do not see what is hidden in the target of
// each.
func TestHiddenAtOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	h := NewHost(HostOptions{Environ: []string{"HOME=" + root}})
	var all errgroup.Group
	for _, name := range []string{"a", "b", "c", "d"} {
		target := filepath.Join(root, name)
		hidden := filepath.Join(target, ".git")
		if err := os.MkdirAll(hidden, 0o755); err != nil {
			t.Fatal(err)
		}
		g, err := Allow{On: h, Target: target}.Grant(Request{HostExec: true})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() error {
			for range 200 {
				view, err := g.hostView(&job{path: "/bin/sh", dir: target})
				if err != nil {
					return err
				}
				if !slices.ContainsFunc(view, func(o op) bool { return o.kind == opTmpfs && o.dst == hidden }) {
					return errors.New(hidden + " is not hidden")
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// TestLinkedRepository checks that the target of a .git link is hidden too.
func TestLinkedRepository(t *testing.T) {
	t.Parallel()
	target := t.TempDir()
	real := filepath.Join(target, "real")
	if err := errors.Join(os.Mkdir(real, 0o755), os.Symlink("real", filepath.Join(target, ".git"))); err != nil {
		t.Fatal(err)
	}
	g, err := Allow{On: NewHost(HostOptions{}), Target: target}.Grant(Request{HostExec: true})
	if err != nil {
		t.Fatal(err)
	}
	view, err := g.hostView(&job{path: "/bin/sh", dir: target})
	if err != nil || !slices.ContainsFunc(view, func(o op) bool { return o.kind == opTmpfs && o.dst == real }) {
		t.Errorf("got %+v, %v", view, err)
	}
}
