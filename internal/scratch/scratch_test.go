//go:build linux || darwin

package scratch_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/scratch"
)

// own is the directory that all of this user's stand in.
func own(in string) string { return filepath.Join(in, "krmcat-"+strconv.Itoa(os.Geteuid())) }

func mustMake(t *testing.T, in string) *scratch.Dir {
	t.Helper()
	d, err := scratch.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o666) }

// age makes a directory look as if it had been made some time ago.
func age(t *testing.T, path string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

// there tells whether something is at a path.
func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// left makes what a process leaves behind that is killed before or after it has a lock.
func left(t *testing.T, in, name string, locked bool) string {
	t.Helper()
	path := filepath.Join(own(in), name)
	if err := os.MkdirAll(filepath.Join(path, "deep", "down"), 0o700); err != nil {
		t.Fatal(err)
	}
	if locked {
		if err := os.WriteFile(filepath.Join(path, "lock"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	d := mustMake(t, in)
	info, err := os.Stat(d.Path)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	d.Remove()
	if names, err := os.ReadDir(in); err != nil || len(names) > 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}

// TestSweep removes what belongs to nobody, and nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	in, victim := t.TempDir(), t.TempDir()
	living := mustMake(t, in)
	dead, unlocked, young := left(t, in, "1", true), left(t, in, "2", false), left(t, in, "3", false)
	link := filepath.Join(own(in), "4")
	if err := os.Symlink(victim, link); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(dead, "link")
	if err := os.Symlink(victim, inside); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(victim, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dead, unlocked, living.Path, victim} {
		age(t, path)
	}
	mustMake(t, in).Remove()
	for path, want := range map[string]bool{dead: false, unlocked: false, young: true, link: true, kept: true, living.Path: true} {
		if there(path) != want {
			t.Errorf("%s is there: %v", path, !want)
		}
	}
	living.Remove()
	if there(living.Path) {
		t.Error("it was not removed")
	}
}

// TestBelow has a directory go with the process that made it, and its like only.
func TestBelow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lay := func(name string, locked bool) string {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if locked {
			if err := os.WriteFile(filepath.Join(path, "lock"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	living, err := scratch.Below(dir, ".tmp-")
	if err != nil {
		t.Fatal(err)
	}
	dead, older, young, other := lay(".tmp-1", true), lay(".tmp-2", false), lay(".tmp-3", false), lay("entry", true)
	pipe := filepath.Join(lay(".tmp-4", false), "lock")
	if err := mkfifo(pipe); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{older, other} {
		age(t, path)
	}
	next, err := scratch.Below(dir, ".tmp-")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{living.Path: true, next.Path: true, dead: false, older: false, young: true, other: true} {
		if there(path) != want {
			t.Errorf("%s is there: %v", path, !want)
		}
	}
	living.Remove()
	next.Remove()
	if there(living.Path) || there(next.Path) || !there(dir) {
		t.Error("they were not removed, or more was")
	}
}

// TestForeign uses nothing that others have laid in the way, and removes nothing from it.
func TestForeign(t *testing.T) {
	t.Parallel()
	for name, lay := range map[string]func(t *testing.T, at, elsewhere string) error{
		"link": func(_ *testing.T, at, elsewhere string) error { return os.Symlink(elsewhere, at) },
		"link to a pipe": func(_ *testing.T, at, elsewhere string) error {
			pipe := filepath.Join(elsewhere, "pipe")
			return errors.Join(mkfifo(pipe), os.Symlink(pipe, at))
		},
		"pipe": func(_ *testing.T, at, _ string) error { return mkfifo(at) },
		"file": func(_ *testing.T, at, _ string) error { return os.WriteFile(at, nil, 0o600) },
		"open to others": func(_ *testing.T, at, _ string) error {
			return errors.Join(os.Mkdir(at, 0o700), os.Chmod(at, 0o777))
		},
		"another's": func(t *testing.T, at, _ string) error {
			t.Helper()
			if os.Geteuid() != 0 {
				enginetest.Missing(t, "it takes root to give a directory to somebody")
			}
			return errors.Join(os.Mkdir(at, 0o700), os.Chown(at, 12345, 12345))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, elsewhere := t.TempDir(), t.TempDir()
			if err := lay(t, own(in), elsewhere); err != nil {
				t.Fatal(err)
			}
			old := filepath.Join(own(in), "1")
			if os.Mkdir(old, 0o700) == nil {
				age(t, old)
			} else {
				old = own(in)
			}
			d := mustMake(t, in)
			if filepath.Dir(d.Path) != in {
				t.Errorf("made %s", d.Path)
			}
			d.Remove()
			if !there(old) || there(d.Path) {
				t.Errorf("%s: %v, %s: %v", old, there(old), d.Path, there(d.Path))
			}
		})
	}
}

// TestPlaces makes nothing where somebody else could exchange it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		mode    os.FileMode
		owner   int // 0 for this user
		refused bool
	}{
		{name: "own", mode: 0o755},
		{name: "sticky", mode: 0o777 | os.ModeSticky},
		{name: "open to others", mode: 0o777, refused: true},
		{name: "open to a group", mode: 0o770, refused: true},
		{name: "another's", mode: 0o755, owner: 12345, refused: true},
		{name: "another's, sticky", mode: 0o777 | os.ModeSticky, owner: 12345, refused: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.owner != 0 && os.Geteuid() != 0 {
				enginetest.Missing(t, "it takes root to give a directory to somebody")
			}
			above := t.TempDir()
			below := filepath.Join(above, "below")
			if err := errors.Join(os.Mkdir(below, 0o700), os.Chmod(above, c.mode)); err != nil {
				t.Fatal(err)
			}
			if c.owner != 0 {
				if err := os.Chown(above, c.owner, c.owner); err != nil {
					t.Fatal(err)
				}
			}
			for _, in := range []string{above, below} {
				d, err := scratch.Make(in)
				var foreign *ownfile.ForeignError
				if errors.As(err, &foreign) != c.refused || (err == nil) == c.refused {
					t.Errorf("%s: %v", in, err)
				}
				if err == nil {
					d.Remove()
				}
			}
		})
	}
}

// TestTogether has many make and remove at the same time.
func TestTogether(t *testing.T) {
	t.Parallel()
	in, other := t.TempDir(), t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				d, err := scratch.Make(in)
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(filepath.Join(d.Path, "x"), nil, 0o600); err != nil {
					t.Error(err)
				}
				d.Remove()
			}
		})
	}
	for range 8 {
		wg.Go(func() {
			for range 50 {
				d, err := scratch.Below(other, "x-")
				if err != nil {
					t.Error(err)
					return
				}
				if !there(filepath.Join(d.Path, "lock")) {
					t.Error("it was swept while it was used, or has no lock")
				}
				d.Remove()
			}
		})
	}
	wg.Wait()
	for _, dir := range []string{in, other} {
		if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
			t.Errorf("left: %v, %v", names, err)
		}
	}
}

func TestNowhere(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		file:           "no temporary directory can be made in " + file + ": not a directory",
		file + "-none": "no temporary directory can be made in " + file + "-none: no such file or directory",
		"relative":     "no temporary directory can be made in relative: it is not an absolute path",
	} {
		_, err := scratch.Make(in)
		var none *scratch.Error
		if !errors.As(err, &none) || err.Error() != want {
			t.Errorf("%s: %v", in, err)
		}
	}
	if _, err := scratch.Make(file + "-none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cause is gone: %v", err)
	}
}

func BenchmarkMake(b *testing.B) {
	in := b.TempDir()
	for b.Loop() {
		d, err := scratch.Make(in)
		if err != nil {
			b.Fatal(err)
		}
		d.Remove()
	}
}
