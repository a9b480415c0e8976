package ownfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/ownfile"
)

// stranger is the uid of a user that no test runs as.
const stranger = 12345

// lay creates directories, links and files below a directory, one per line:
//
//	d PATH MODE        a directory
//	f PATH MODE        a file
//	l PATH TO          a link
//	o PATH             changes its owner to the stranger
func lay(t *testing.T, dir, plan string) {
	t.Helper()
	for line := range strings.Lines(plan) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		path := filepath.Join(dir, f[1])
		var err error
		switch f[0] {
		case "d":
			err = errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode(t, f[2])))
		case "f":
			err = errors.Join(os.WriteFile(path, []byte("text"), 0o600), os.Chmod(path, mode(t, f[2])))
		case "l":
			err = os.Symlink(strings.ReplaceAll(f[2], "DIR", dir), path)
		case "o":
			err = os.Lchown(path, stranger, stranger)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func mode(t *testing.T, text string) fs.FileMode {
	t.Helper()
	var m fs.FileMode
	for _, digit := range text {
		m = m<<3 | fs.FileMode(digit-'0')
	}
	if m&0o1000 != 0 {
		m = m&0o777 | fs.ModeSticky
	}
	return m
}

// TestOpen opens a file p on different paths, and expects the error of each.
func TestOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, plan, want string // want is part of the error, "" for none
	}{
		{"plain", "f p 0644", ""},
		{"private", "f p 0400", ""},
		{"the group may write", "f p 0664", "/p can be written to by others (-rw-rw-r--)"},
		{"everybody may write", "f p 0666", "/p can be written to by others (-rw-rw-rw-)"},
		{"others alone may write", "f p 0602", "/p can be written to by others"},
		{"a stranger's", "f p 0644\no p", "/p belongs to user 12345"},
		{"below an open directory", "d d 0777\nf d/f 0644\nl p d/f", "/d can be written to by others"},
		{"below a directory of the group", "d d 0775\nf d/f 0644\nl p d/f", "/d can be written to by others"},
		{"far below an open directory", "d d 0777\nd d/e 0755\nf d/e/f 0644\nl p d/e/f", "/d can be written to by others"},
		{"below a sticky directory", "d d 1777\nf d/f 0644\nl p d/f", ""},
		{"a stranger's below a sticky directory", "d d 1777\nf d/f 0644\no d/f\nl p d/f", "/d/f belongs to user 12345"},
		{"below a stranger's directory below a sticky one", "d d 1777\nd d/e 0755\nf d/e/f 0644\no d/e\nl p d/e/f", "/d/e belongs to user 12345"},
		{"below a stranger's directory", "d d 0755\nf d/f 0644\no d\nl p d/f", "/d belongs to user 12345"},
		{"a stranger's link", "f f 0644\nl p f\no p", "/p belongs to user 12345"},
		{"a link in an open directory", "f f 0644\nd d 0777\nl d/l ../f\nl p d/l", "/d can be written to by others"},
		{"a link in a sticky directory", "f f 0644\nd d 1777\nl d/l ../f\nl p d/l", ""},
		{"a stranger's link in a sticky directory", "f f 0644\nd d 1777\nl d/l ../f\no d/l\nl p d/l", "/d/l belongs to user 12345"},
		{"a stranger's link to a directory", "d d 0755\nf d/f 0644\nl e d\no e\nl p e/f", "/e belongs to user 12345"},
		{"up from an open directory", "d d 0777\nd d/e 0755\nf f 0644\nl p d/e/../../f", "/d can be written to by others"},
		{"up from where a link leads", "d d 0755\nd d/e 0755\nf d/f 0644\nl l d/e\nl p l/../f", ""},
		{"an absolute link", "d d 0755\nf d/f 0644\nl p DIR/d/f", ""},
		{"an absolute link through an open directory", "d d 0777\nf d/f 0644\nl p DIR/d/f", "/d can be written to by others"},
		{"not there", "", "no such file"},
		{"an open directory", "d d 0777\nl p d", "/p: it is a directory, not a file"},
		{"a link to nothing", "l p q", "the link DIR/p leads to q, which is not there"},
		{"a link to a link to nothing", "l p q\nl q r", "the link DIR/q leads to r, which is not there"},
		{"a link to nothing far away", "l p DIR/far/away", "leads to DIR/far/away, which is not there"},
		{"links in a circle", "l p q\nl q p", "too many levels of symbolic links"},
		{"a directory", "d p 0755", "/p: it is a directory, not a file"},
		{"below a file", "f f 0644\nl p f/g", "not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(c.plan, "o ") && os.Geteuid() != 0 {
				enginetest.Missing(t, "only root can give something to a stranger")
			}
			dir := filepath.Join(own(t), "x")
			lay(t, filepath.Dir(dir), "d x 0755")
			lay(t, dir, c.plan)
			f, err := ownfile.Mine().Open(filepath.Join(dir, "p"))
			want := strings.ReplaceAll(c.want, "DIR", dir)
			switch {
			case err == nil && c.want != "":
				t.Errorf("opened, want %q", want)
			case err != nil && (c.want == "" || !strings.Contains(err.Error(), want)):
				t.Errorf("%v, want %q", err, want)
			}
			if err == nil {
				data, rerr := io.ReadAll(f)
				if cerr := f.Close(); string(data) != "text" || rerr != nil || cerr != nil {
					t.Errorf("%q, %v, %v", data, rerr, cerr)
				}
			}
		})
	}
}

// own returns a directory of the test whose path has no links.
func own(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestNotThere checks that a missing file is not reported as a link to nothing, nor as a file of
// another user.
func TestNotThere(t *testing.T) {
	t.Parallel()
	dir := own(t)
	lay(t, dir, "d d 0777\nl l gone\nd e 0755\nl m e")
	var dangling *ownfile.DanglingError
	for path, link := range map[string]bool{"d/p": false, "p": false, "l": true, "l/p": true, "m/p": false, "d/e/f/g": false} {
		_, err := ownfile.Mine().Resolve(filepath.Join(dir, path))
		if !errors.Is(err, fs.ErrNotExist) || errors.As(err, &dangling) != link {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestDirectory resolves a directory: other users may not write to it, even if it is sticky.
func TestDirectory(t *testing.T) {
	t.Parallel()
	dir := own(t)
	lay(t, dir, "d s 1777\nd s/d 0755\nl l s/d/..\nd m 0700")
	for path, ok := range map[string]bool{"m": true, "s/d": true, "s": false, "l": false} {
		got, err := ownfile.Mine().Resolve(filepath.Join(dir, path))
		var foreign *ownfile.ForeignError
		if ok && err != nil || !ok && !errors.As(err, &foreign) {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
}

// TestRoot accepts only files of root.
func TestRoot(t *testing.T) {
	t.Parallel()
	dir, what := own(t), "f p 0644"
	if os.Geteuid() == 0 {
		what += "\no p" // root has to change the owner
	}
	lay(t, dir, what)
	if _, err := ownfile.Root().Open(filepath.Join(dir, "p")); err == nil || !strings.Contains(err.Error(), "not to root") {
		t.Error(err)
	}
}

// TestCheckNew checks the existing part of the path of a file that is not there yet.
func TestCheckNew(t *testing.T) {
	t.Parallel()
	dir := own(t)
	lay(t, dir, "d s 1777\nd o 0777\nd m 0755\nl l o\nf f 0644\nl n gone")
	for path, want := range map[string]string{
		"m/new/er": "", "s/new": "", "new": "", "s": "", "o/new": "/o can be written to by others", "o/new/er": "/o can be written to by others",
		"l/new": "/o can be written to by others", "f/new": "not a directory", "n/new": "leads to gone",
	} {
		err := ownfile.Mine().CheckNew(filepath.Join(dir, path))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
