package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (o op) String() string {
	kind := map[opKind]string{opDir: "dir", opTmpfs: "tmpfs", opBind: "bind", opSymlink: "symlink", opEmpty: "empty", opProc: "proc", opDev: "dev"}[o.kind]
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", kind, o.dst, o.src))
}

func texts(ops []op, root string) []string {
	var out []string
	for _, o := range ops {
		out = append(out, strings.ReplaceAll(o.String(), root, "ROOT"))
	}
	return out
}

// tree makes directories (ending in /), links (a=b) and files.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, n := range names {
		name, text, link := strings.Cut(n, "=")
		p := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(p), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(text, p)
		case strings.HasSuffix(n, "/"):
			err = os.MkdirAll(p, 0o755)
		default:
			err = os.WriteFile(p, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestCompose(t *testing.T) {
	t.Parallel()
	root := tree(t, "bin=usr/bin", "usr/bin/sh", "usr/link=/etc", "etc/passwd", "etc/app/", "home/u/.ssh/", "home/u/src/fn", "home/v/", "proc/", "init", "data/")
	project := op{kind: opBind, src: filepath.Join(root, "home/u/src"), dst: "/home/u/src"}
	none := op{kind: opDir, dst: "/none"} // not in the root
	for _, test := range []struct {
		name string
		over []op
		want []string
	}{
		{"no mounts", nil, []string{"bind / ROOT"}},
		{"all destinations exist", []op{{kind: opProc, dst: "/proc"}, {kind: opTmpfs, dst: "/home"}, project}, []string{
			"bind / ROOT", "tmpfs /home", "dir /home/u", "bind /home/u/src ROOT/home/u/src", "proc /proc",
		}},
		{"in place of a skipped directory and of a link", []op{{kind: opProc, dst: "/proc"}, {kind: opDir, dst: "/bin"}}, []string{
			"bind /data ROOT/data", "bind /etc ROOT/etc", "bind /home ROOT/home", "bind /init ROOT/init", "bind /usr ROOT/usr", "dir /bin", "proc /proc",
		}},
		{"hidden except for a part", []op{{kind: opTmpfs, dst: "/home"}, project, none}, []string{
			"symlink /bin usr/bin", "bind /data ROOT/data", "bind /etc ROOT/etc", "bind /init ROOT/init", "bind /proc ROOT/proc", "bind /usr ROOT/usr",
			"tmpfs /home", "dir /home/u", "bind /home/u/src ROOT/home/u/src", "dir /none",
		}},
		{"nested, below an existing directory", []op{none, {kind: opTmpfs, dst: "/home/u/.ssh"}, {kind: opEmpty, dst: "/etc/passwd"}}, []string{
			"symlink /bin usr/bin", "bind /data ROOT/data", "bind /init ROOT/init", "bind /proc ROOT/proc", "bind /usr ROOT/usr",
			"bind /etc ROOT/etc", "empty /etc/passwd", "bind /home ROOT/home", "tmpfs /home/u/.ssh", "dir /none",
		}},
		{"nested, below a missing directory", []op{{kind: opBind, src: root, dst: "/etc/app/x/y"}}, []string{
			"symlink /bin usr/bin", "bind /data ROOT/data", "bind /home ROOT/home", "bind /init ROOT/init", "bind /proc ROOT/proc", "bind /usr ROOT/usr",
			"tmpfs /etc", "bind /etc/passwd ROOT/etc/passwd", "tmpfs /etc/app", "dir /etc/app/x", "bind /etc/app/x/y ROOT",
		}},
		{"a directory over a file", []op{{kind: opBind, src: root, dst: "/etc/passwd"}}, []string{
			"symlink /bin usr/bin", "bind /data ROOT/data", "bind /home ROOT/home", "bind /init ROOT/init", "bind /proc ROOT/proc", "bind /usr ROOT/usr",
			"tmpfs /etc", "bind /etc/app ROOT/etc/app", "bind /etc/passwd ROOT",
		}},
		{"through a link, which is not followed", []op{none, {kind: opBind, src: filepath.Join(root, "usr"), dst: "/data"}, {kind: opBind, src: root, dst: "/data/link/x"}}, []string{
			"symlink /bin usr/bin", "bind /etc ROOT/etc", "bind /home ROOT/home", "bind /init ROOT/init", "bind /proc ROOT/proc", "bind /usr ROOT/usr",
			"tmpfs /data", "bind /data/bin ROOT/usr/bin", "dir /data/link", "bind /data/link/x ROOT", "dir /none",
		}},
		{"inside another mount", []op{none, {kind: opBind, src: root, dst: "/data"}, {kind: opTmpfs, dst: "/data/etc/app"}}, []string{
			"symlink /bin usr/bin", "bind /etc ROOT/etc", "bind /home ROOT/home", "bind /init ROOT/init", "bind /proc ROOT/proc", "bind /usr ROOT/usr",
			"bind /data ROOT", "tmpfs /data/etc/app", "dir /none",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := compose(append([]op{{kind: opBind, src: root, dst: "/"}}, test.over...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, texts(got, root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestComposeRefuses checks that no mount point is made in a writable mount, or below what is not a
// directory.
func TestComposeRefuses(t *testing.T) {
	t.Parallel()
	root := tree(t, "dir/", "link=dir", "file")
	for _, dst := range []string{"/d/new", "/d/link/x", "/d/file/x"} {
		over := []op{{kind: opBind, src: root, dst: "/d", write: true}, {kind: opBind, src: root, dst: dst}}
		if ops, err := compose(over); err == nil {
			t.Errorf("%s: got %v", dst, ops)
		}
	}
	if _, err := compose([]op{{kind: opBind, src: root, dst: "/d", write: true}, {kind: opBind, src: root, dst: "/d/dir"}}); err != nil {
		t.Error(err)
	}
	if _, err := compose([]op{{kind: opProc, dst: "/proc"}, {kind: opBind, src: root, dst: "/proc/x"}}); err == nil {
		t.Error("something is shown below /proc")
	}
}
