package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/regtest"
)

// small is an image with every kind of entry.
func small(t testing.TB) []byte {
	t.Helper()
	return zip(t, pack(t, directory("d"), regular("d/a", "aaaa"), regular("d/b", "bbbb"), symlink("l", "d/a"), hardlink("h", "d/a")))
}

// TestKept checks that a cached image needs no registry.
func TestKept(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	f := regtest.Serve(t)
	a := publish(t, f, "", small(t))
	s := newStore(cacheDir(t), bounds{})
	first, err := s.get(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	before := len(f.Requests())
	second, err := s.get(t.Context(), a)
	if err != nil || second.root != first.root || strings.Join(second.config.argv(Command{}), " ") != "run" {
		t.Errorf("%+v, %v", second, err)
	}
	if n := len(f.Requests()) - before; n != 0 {
		t.Errorf("%d requests", n)
	}
}

// another returns a store of another process for the same cache.
func another(s *Store) *Store { return newStore(s.cache, s.limits) }

// TestTampered checks that the next process has the right image, whatever was changed.
func TestTampered(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	write := func(name, text string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }
	}
	touch := func(name string) func(string) error {
		return func(dir string) error { return os.Chtimes(filepath.Join(dir, name), time.Unix(5, 0), time.Unix(5, 0)) }
	}
	const config = "config.json is gone or was changed"
	for name, tc := range map[string]struct {
		tamper func(dir string) error
		warns  string // the warning; "" if the image counts as unchanged
	}{
		"changed content of the same size": {write("root/d/a", "axaa"), "/d/a was changed"},
		"changed content of another size":  {write("root/d/a", "aaaaa"), "/d/a was changed"},
		"changed content and time": {func(d string) error {
			return errors.Join(write("root/d/a", "axaa")(d), os.Chtimes(filepath.Join(d, "root/d/a"), time.Unix(1e9, 0), time.Unix(1e9, 0)))
		}, "/d/a was changed"},
		"an added file":                         {write("root/d/c", ""), "/d/c was added"},
		"an added last file":                    {write("root/z", ""), "/z was added"},
		"an added name with control characters": {write("root/d/\x1b[m", ""), `"/d/\x1b[m" was added`},
		"a removed file":                        {func(d string) error { return os.Remove(filepath.Join(d, "root/d/b")) }, "/d/b is gone"},
		"the removed last file":                 {func(d string) error { return os.Remove(filepath.Join(d, "root/l")) }, "/l is gone"},
		"a mode":                                {func(d string) error { return os.Chmod(filepath.Join(d, "root/d/b"), 0o755) }, "/d/b was changed"},
		"setuid":                                {func(d string) error { return os.Chmod(filepath.Join(d, "root/d/b"), 0o644|os.ModeSetuid) }, "/d/b was changed"},
		"a link": {func(d string) error {
			return errors.Join(os.Remove(filepath.Join(d, "root/l")), os.Symlink("d/b", filepath.Join(d, "root/l")))
		}, "/l was changed"},
		"no root":            {func(d string) error { return os.RemoveAll(filepath.Join(d, "root")) }, "it cannot be looked at: "},
		"no index":           {func(d string) error { return os.Remove(filepath.Join(d, "index")) }, "what says how it was unpacked is gone or damaged"},
		"an empty index":     {write("index", string(encodeIndex("", nil))), "what says how it was unpacked is gone or damaged"},
		"a damaged index":    {write("index", indexHead+"sum x\n"), "what says how it was unpacked is gone or damaged"},
		"an older index":     {write("index", "krmcat image index 2\n"), "-"},
		"another config":     {write("config.json", "{}"), config},
		"no config":          {func(d string) error { return os.Remove(filepath.Join(d, "config.json")) }, config},
		"a time":             {touch("root/d/b"), "/d/b was changed"},
		"a directory's time": {touch("root/d"), "/d was changed"},
		"the same content": {func(d string) error {
			return errors.Join(os.Remove(filepath.Join(d, "root/d/b")), os.WriteFile(filepath.Join(d, "root/d/b"), []byte("bbbb"), 0o644))
		}, "/d/b was changed"},
		"a copy": {func(d string) error {
			return errors.Join(os.Rename(d, d+"x"), os.CopyFS(d, os.DirFS(d+"x")), os.RemoveAll(d+"x"))
		}, "it was copied or restored, not unpacked here"},
		"a file in its place": {func(d string) error { return errors.Join(os.RemoveAll(d), os.WriteFile(d, nil, 0o600)) }, "what says how it was unpacked is gone or damaged"},
		"only the modes":      {func(string) error { return nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := regtest.Serve(t)
			a := publish(t, f, "", small(t))
			s := newStore(cacheDir(t), bounds{})
			got, err := s.get(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprint(listing(t, got.root))
			if err := tc.tamper(filepath.Dir(got.root)); err != nil {
				t.Fatal(err)
			}
			warned := ""
			for range 2 {
				s = another(s)
				s.warn = func(text string) { warned += text }
				if got, err = s.get(t.Context(), a); err != nil || fmt.Sprint(listing(t, got.root)) != want {
					t.Errorf("%v, %v", listing(t, got.root), err)
				}
			}
			says := a.Pinned().Display() + " is not in the cache as it was unpacked: " + tc.warns
			if tc.warns == "" || tc.warns == "-" {
				says = ""
			}
			if !strings.HasPrefix(warned, says) || says == "" && warned != "" || strings.Count(warned, "unpacked again") > 1 {
				t.Errorf("warned: %q, want %q", warned, says)
			}
			if info, err := os.Stat(filepath.Join(got.root, "d/a")); err != nil || !info.ModTime().Equal(time.Unix(1e9, 0)) {
				t.Errorf("%v, %v", info, err)
			}
			if now, err := examine(t.Context(), filepath.Dir(got.root), a); err != nil || !now.whole {
				t.Errorf("it is unpacked each time: %+v, %v", now, err)
			}
			if n := f.Count("GET", a.Files[0].Digest.Encoded()); n != map[bool]int{false: 1, true: 2}[tc.warns != ""] {
				t.Errorf("the layer was fetched %d times", n)
			}
			clean(t, s, true)
		})
	}
}

// TestAtOnce checks many concurrent callers for one image, in independent stores.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	f := regtest.Serve(t)
	a := publish(t, f, "", zip(t, pack(t, many(200)...)), small(t))
	dir := cacheDir(t)
	stores := []*Store{newStore(dir, bounds{}), newStore(dir, bounds{})}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			got, err := stores[i%2].get(t.Context(), a)
			if err != nil || len(listing(t, got.root)) != 205 {
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
	clean(t, stores[0], true)
	if n := f.Count("GET", a.Files[0].Digest.Encoded()); n != 1 {
		t.Errorf("the layer was fetched %d times", n)
	}
}

// TestWaiterLeaves checks that a cancelled caller does not wait, and that a waiting caller takes
// over from a cancelled one.
func TestWaiterLeaves(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	arrived := make(chan struct{}, 10)
	layer := small(t)
	f := regtest.Serve(t, regtest.On(digest.FromBytes(layer).Encoded(), regtest.First(1, regtest.Hang(arrived))))
	a := publish(t, f, "", layer)
	s := newStore(cacheDir(t), bounds{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() {
		_, err := s.get(ctx, a)
		ended <- err
	}()
	<-arrived
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.get(gone, a); !errors.Is(err, context.Canceled) {
		t.Errorf("a waiter that left got %v", err)
	}
	other := another(s)
	if _, err := other.get(gone, a); !errors.Is(err, context.Canceled) {
		t.Errorf("a waiter of another process that left got %v", err)
	}
	go func() {
		_, err := s.get(t.Context(), a)
		ended <- err
	}()
	cancel()
	errs := []error{<-ended, <-ended}
	if n := len(strings.Split(fmt.Sprint(errors.Join(errs...)), "\n")); n != 1 || !errors.Is(errors.Join(errs...), context.Canceled) {
		t.Errorf("got %v", errs)
	}
	clean(t, s, true)
}

// victimEnv makes the test binary a process that unpacks until it is killed.
const victimEnv = "KRMCAT_TEST_UNPACK"

// TestVictim is that process.
func TestVictim(t *testing.T) {
	what := strings.Fields(os.Getenv(victimEnv))
	if len(what) != 3 {
		t.Skip("it is started by TestKilled")
	}
	a := resolveImage(t, what[0], digest.Digest(what[1]), t.TempDir())
	fmt.Println("unpacking")
	if _, err := newStore(what[2], bounds{}).get(t.Context(), a); err != nil {
		t.Error(err)
	}
	fmt.Println("unpacked")
}

// TestKilled checks that what a killed process leaves is never taken for an image, and is removed.
func TestKilled(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	arrived := make(chan struct{}, 10)
	hang := regtest.Hang(arrived)
	var layers [][]byte
	var how []regtest.Middleware
	for i := range 5 {
		layer := zip(t, pack(t, many(400+i)...))
		layers = append(layers, layer)
		how = append(how, regtest.On(digest.FromBytes(layer).Encoded(), regtest.First(1, hang)))
	}
	f := regtest.Serve(t, how...)
	a := publish(t, f, "", layers...)
	dir := cacheDir(t)
	s := newStore(dir, bounds{})
	final := filepath.Join(s.dir, a.Manifest.Digest.Encoded())
	for killed := true; killed; { // each one gets a few layers further
		killed = killAmid(t, victimEnv+"="+f.Host+" "+a.Manifest.Digest.String()+" "+dir, arrived)
		if _, err := os.Stat(final); killed != errors.Is(err, os.ErrNotExist) {
			t.Errorf("killed: %v; the image: %v", killed, err)
		}
		if found, _ := filepath.Glob(filepath.Join(s.dir, tempImage+"*", "new", rootDir)); killed && len(found) != 1 {
			t.Errorf("left behind: %q", found)
		}
	}
	got, err := s.get(t.Context(), a)
	if err != nil || len(listing(t, got.root)) != 404 {
		t.Errorf("%d entries, %v", len(listing(t, got.root)), err)
	}
	clean(t, s, true)
}

// killAmid starts a victim and kills it when it waits for a layer. It returns false if the
// victim ended before.
func killAmid(t *testing.T, env string, arrived <-chan struct{}) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	cmd.Env = append(os.Environ(), env, "TMPDIR="+t.TempDir()) // it is killed before it could clean up
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, out)
		ended <- errors.Join(err, cmd.Wait())
	}()
	select {
	case <-arrived:
		_ = cmd.Process.Kill()
		<-ended
		for {
			select {
			case <-arrived: // of the same victim
			default:
				return true
			}
		}
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
		return false
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	entries := []entry{
		{path: ".", mode: os.ModeDir | 0o755, mtime: -5, ctime: 7, inode: 1 << 63},
		{path: "a \"b\"\n\xff", mode: 0o644, size: 3},
		{path: "l", mode: os.ModeSymlink | 0o777},
	}
	mine := digest.FromString("mine")
	data := encodeIndex(mine, entries)
	got, err := decodeIndex(data, mine)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(entries) {
		t.Errorf("%v, %v", got, err)
	}
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 1
		if _, err := decodeIndex(bad, mine); err == nil {
			t.Errorf("byte %d may be anything", i)
		}
		if _, err := decodeIndex(data[:i], mine); err == nil {
			t.Errorf("%d bytes are an index", i)
		}
	}
	if _, err := decodeIndex(data, digest.FromString("another")); err == nil {
		t.Error("it is another image's index")
	}
}

// TestNever checks that nothing is fetched with Never.
func TestNever(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	a := publish(t, regtest.Serve(t), "", small(t))
	s := newStore(cacheDir(t), bounds{})
	s.never = true
	if _, err := s.get(t.Context(), a); !isA[*NotHereError](err) {
		t.Errorf("got %v", err)
	}
	s.never = false
	if _, err := s.get(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	s.never = true
	got, err := s.get(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(got.root, "d", "b"), []byte("evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = another(s)
	s.never = true
	if _, err := s.get(t.Context(), a); !isA[*ChangedError](err) || !strings.Contains(err.Error(), "/d/b was changed") {
		t.Errorf("one that was changed: got %v", err)
	}
}
