//go:build unix

package files_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/files"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// TestRefusedPaths: a resource that asks for a path outside, or for a file that is not one of
// resources, is refused by name, and nothing is written.
func TestRefusedPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), cm("a", "1"))
	write(t, filepath.Join(dir, "dir.yaml/x.txt"), "text")
	write(t, filepath.Join(dir, "file"), "text")
	write(t, filepath.Join(dir, ".krmignore"), "ignored*\n")
	write(t, filepath.Join(dir, "ignored.yaml"), "not: [read")
	if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "link")), os.Symlink("a.yaml", filepath.Join(dir, "l.yaml"))); err != nil {
		t.Fatal(err)
	}
	tree := read(t, dir)
	before := contents(t, filepath.Join(dir, "dir.yaml"))
	for path, why := range map[string]string{
		"/tmp/x.yaml": "absolute", "../x.yaml": "..", "a/../../x.yaml": "..", "a/../x.yaml": "..", "sub/": "directory",
		"dir.yaml": "directory", "file/x.yaml": "not a directory", "link/x.yaml": "link", "l.yaml": "link",
		".git/x.yaml": ".git", "sub/.GIT/x.yaml": ".GIT", ".krmcat-change/x.yaml": ".krmcat-change", "x.txt": "not read again",
		"Makefile": "not read again", "ignored2.yaml": "ignored", "ignored.yaml": "exists", "ignoredir/x.yaml": "ignored",
		"a\\b.yaml": "backslash", "a\nb.yaml": "control", strings.Repeat("x", 300) + ".yaml": "255", ".": "file", "a.yaml/b.yaml": "not a directory",
	} {
		item := yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\n")
		if err := item.PipeE(yaml.SetAnnotation("internal.config.kubernetes.io/path", path)); err != nil {
			t.Fatal(err)
		}
		_, err := tree.Change(append(tree.Items(), item))
		place := (*files.PlaceError)(nil)
		if !errors.As(err, &place) || !errors.Is(err, failure.NotPermitted) || !strings.Contains(place.Why, why) || !strings.Contains(err.Error(), "v1 ConfigMap bad") {
			t.Errorf("%q: got %v, want %q in it", path, err, why)
		}
	}
	if got := contents(t, filepath.Join(dir, "dir.yaml")); !maps.Equal(got, before) {
		t.Errorf("got %v", got)
	}
}

// TestBadItems: what a function must not return is an error that names the resource.
func TestBadItems(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), cm("a", "1"))
	write(t, filepath.Join(dir, "j.json"), `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j"}}`)
	tree := read(t, dir)
	one := func(annotations string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: n\n  annotations: {" + annotations + "}\n"
	}
	for name, c := range map[string]struct{ item, want string }{
		"no kind":            {"apiVersion: v1\n", "item 3 is not a resource"},
		"a list":             {"- a\n", "item 3 is not a resource"},
		"a field twice":      {"apiVersion: v1\nkind: X\na: 1\na: 2\n", "written twice"},
		"taken":              {one("config.kubernetes.io/path: a.yaml, config.kubernetes.io/index: '0'"), "v1 ConfigMap a and v1 ConfigMap n have the same path"},
		"different families": {one("config.kubernetes.io/path: x.yaml, internal.config.kubernetes.io/path: y.yaml"), "differ"},
		"no number":          {one("config.kubernetes.io/path: x.yaml, config.kubernetes.io/index: first"), "not a number"},
		"a second in JSON":   {one("config.kubernetes.io/path: j.json"), "a JSON file has one resource"},
	} {
		n, err := yaml.Parse(c.item)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tree.Change(append(tree.Items(), n)); err == nil || !strings.Contains(err.Error(), c.want) || failure.Of(err) == failure.Unexpected {
			t.Errorf("%s: got %v (%v), want %q", name, err, failure.Of(err), c.want)
		}
	}
}

// TestFamilies: a function that knows only one family of annotations moves a resource by it.
func TestFamilies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), cm("a", "1"))
	tree := read(t, dir)
	for _, key := range []string{"config.kubernetes.io/", "internal.config.kubernetes.io/"} {
		items := tree.Items()
		for _, s := range []string{"config.kubernetes.io/path=a.yaml", "config.kubernetes.io/index=0", key + "path=b.yaml"} {
			k, v, _ := strings.Cut(s, "=")
			if err := items[0].PipeE(yaml.SetAnnotation(k, v)); err != nil {
				t.Fatal(err)
			}
		}
		list := change(t, tree, items).Files()
		if len(list) != 2 || list[0].Path != "a.yaml" || list[0].After != nil || list[1].Path != "b.yaml" || string(list[1].After) != cm("a", "1") {
			t.Errorf("%s: got %q", key, list)
		}
	}
}

// TestUnreadable: what cannot be read is an error with file and line.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: b\n---\nc: [\n":                                  "sub/a.yaml:",
		"apiVersion: v1\nkind: X\na: 1\na: 2\n":              "sub/a.yaml:4: the field \"a\" is written twice",
		"a: b\n---\napiVersion: v1\nkind: X\nmetadata: []\n": "sub/a.yaml:5: metadata must be a mapping",
		"a: \xff\n": "sub/a.yaml:1: the text is not UTF-8",
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "sub/a.yaml"), text)
		_, err := files.Read(t.Context(), dir, files.Options{})
		if at := (*yamldoc.Error)(nil); !errors.As(err, &at) || !strings.Contains(err.Error(), want) || !errors.Is(err, failure.Usage) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// TestLimits: what is larger, deeper or more than is read is refused for safety.
func TestLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a/b/c/a.yaml"), cm("a", "1")+"---\n"+cm("b", "1"))
	write(t, filepath.Join(dir, "b.yaml"), cm("c", "1"))
	for name, l := range map[string]files.Limits{
		"file": {File: 80}, "total": {Total: 150}, "entries": {Entries: 4}, "depth": {Depth: 2}, "documents": {Documents: 2},
	} {
		if _, err := files.Read(t.Context(), dir, files.Options{Limits: l}); !errors.Is(err, failure.Untrusted) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := files.Read(t.Context(), dir, files.Options{Limits: files.Limits{File: 200, Total: 300, Entries: 5, Depth: 3, Documents: 3}}); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(dir, "bomb.yaml"), bomb())
	if _, err := files.Read(t.Context(), dir, files.Options{}); !errors.Is(err, failure.Untrusted) {
		t.Errorf("a bomb: got %v", err)
	}
}

// bomb is a resource whose aliases stand for more than fits into memory.
func bomb() string {
	var out strings.Builder
	out.WriteString("apiVersion: v1\nkind: X\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		fmt.Fprintf(&out, "a%d: &a%d [", i+1, i+1)
		out.WriteString(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9) + fmt.Sprintf("*a%d]\n", i))
	}
	return out.String()
}

// TestLinks: links are not read, and the tree says so; pipes are an error.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "secret.yaml"), cm("secret", "1"))
	write(t, filepath.Join(dir, "a.yaml"), cm("a", "1"))
	if err := errors.Join(
		os.Symlink(filepath.Join(outside, "secret.yaml"), filepath.Join(dir, "out.yaml")),
		os.Symlink("a.yaml", filepath.Join(dir, "in.yaml")),
		os.Symlink(outside, filepath.Join(dir, "dir"))); err != nil {
		t.Fatal(err)
	}
	tree := read(t, dir)
	if got := tree.Items(); len(got) != 1 || got[0].GetName() != "a" {
		t.Errorf("got %d items", len(got))
	}
	if notes := strings.Join(tree.Notes(), "\n"); !strings.Contains(notes, "in.yaml is a link") || !strings.Contains(notes, "out.yaml is a link") {
		t.Errorf("got %q", notes)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "p.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Read(t.Context(), dir, files.Options{}); !errors.As(err, new(*ownfile.KindError)) {
		t.Errorf("a pipe: got %v", err)
	}
}

// TestHardLink: a file with two names is not changed, since the other name would keep the old one.
func TestHardLink(t *testing.T) {
	t.Parallel()
	dir := threeFiles(t)
	if err := os.Link(filepath.Join(dir, "change.yaml"), filepath.Join(t.TempDir(), "other")); err != nil {
		t.Fatal(err)
	}
	tree := read(t, dir)
	before := contents(t, dir)
	if err := change(t, tree, rewritten(tree)).Apply(t.Context()); !errors.Is(err, failure.NotPermitted) || !strings.Contains(err.Error(), "hard links") {
		t.Errorf("got %v", err)
	}
	if got := contents(t, dir); !maps.Equal(got, before) {
		t.Errorf("got %v", got)
	}
}

// TestModes: a changed file keeps its mode.
func TestModes(t *testing.T) {
	t.Parallel()
	dir := threeFiles(t)
	for _, mode := range []os.FileMode{0o600, 0o664, 0o444} {
		at := filepath.Join(dir, "change.yaml")
		write(t, at, cm("change", "old"))
		if err := os.Chmod(at, mode); err != nil {
			t.Fatal(err)
		}
		tree := read(t, dir)
		items := tree.Items()
		for _, item := range items {
			item.SetDataMap(map[string]string{"a": fmt.Sprint(mode)})
		}
		if err := change(t, tree, items).Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(at); err != nil || info.Mode() != mode {
			t.Errorf("got %v, %v, want %v", info.Mode(), err, mode)
		}
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOneAtATime: while a change is written, another one and a read wait.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	dir := threeFiles(t)
	tree := read(t, dir)
	first, second := change(t, tree, rewritten(tree)), change(t, tree, rewritten(tree))
	waits := func(f func(ctx context.Context) error) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := f(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	}
	asked := 0
	first.OnStep(func(name string) {
		if name != "rename" && name != "stage" {
			return
		}
		asked++
		waits(second.Apply)
		if name == "rename" {
			waits(func(ctx context.Context) error {
				_, err := files.Read(ctx, dir, files.Options{})
				return err
			})
		}
	})
	if err := first.Apply(t.Context()); err != nil || asked == 0 {
		t.Errorf("asked %d times, got %v", asked, err)
	}
	if err := second.Apply(t.Context()); !errors.As(err, new(*files.ConflictError)) {
		t.Errorf("got %v", err)
	}
}

// TestPackages: what a Kptfile below the directory means is an option.
func TestPackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, text := range map[string]string{
		".krmignore": "skipped\n*.bak.yaml\n", "a.yaml": cm("a", "1"), "in/Kptfile": cm("k", "1"), "in/b.yaml": cm("b", "1"), "in/x.bak.yaml": cm("bak", "1"),
		"skipped/Kptfile": cm("k", "1"), "skipped/c.yaml": cm("c", "1"), "skipped/sub/.krmignore": "d.yaml", "skipped/sub/d.yaml": cm("d", "1"),
	} {
		write(t, filepath.Join(dir, path), text)
	}
	for opts, want := range map[files.Options]string{
		{}:                       "a b",
		{Packages: files.Apart}:  "a",
		{Packages: files.Nested}: "a b bak",
		{Packages: files.Kept}:   "a b bak c d",
		{Kptfiles: true}:         "a k b",
		{Limits: files.Limits{}, Kptfiles: true, Packages: files.Apart}: "a",
	} {
		tree, err := files.Read(t.Context(), dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, item := range tree.Items() {
			names = append(names, item.GetName())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%+v: got %q, want %q", opts, got, want)
		}
	}
}
