package livetest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// updating is set if a live test writes its results anew.
const updating = "UPDATE_GOLDEN"

// Results is a txtar archive of the results of real programs. Tests read it if the programs do not
// run, and compare with it if they do.
type Results struct {
	path   string
	stored map[string][]byte

	mu   sync.Mutex
	seen map[string][]byte // results in a live test
}

// Open reads a file of results. A live test with UPDATE_GOLDEN writes it anew when it ends.
func Open(t testing.TB, path string) *Results {
	t.Helper()
	r := &Results{path: path, stored: map[string][]byte{}, seen: map[string][]byte{}}
	a, err := txtar.ParseFile(path)
	if err != nil && !(On() && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	if err == nil {
		for _, f := range a.Files {
			r.stored[f.Name] = decode(t, f.Data)
		}
	}
	if On() && os.Getenv(updating) != "" {
		t.Cleanup(func() { r.write(t) })
	}
	return r
}

// Get returns a stored result.
func (r *Results) Get(name string) (data []byte, ok bool) {
	data, ok = r.stored[name]
	return data, ok
}

// Below returns the stored results whose names begin with a prefix.
func (r *Results) Below(prefix string) map[string][]byte {
	found := map[string][]byte{}
	for name, data := range r.stored {
		if strings.HasPrefix(name, prefix) {
			found[name] = data
		}
	}
	return found
}

// Same compares all results of a real program whose names begin with a prefix with the stored ones,
// and fails if they differ. It compares what form returns for a name and its data, or the data
// itself if form is nil.
func (r *Results) Same(prefix string, got map[string][]byte, form func(name string, data []byte) string) error {
	r.mu.Lock()
	maps.Copy(r.seen, got)
	r.mu.Unlock()
	if os.Getenv(updating) != "" {
		return nil
	}
	if form == nil {
		form = func(name string, data []byte) string { return name + "\n" + string(data) }
	}
	if diff := cmp.Diff(forms(r.Below(prefix), form), forms(got, form)); diff != "" {
		return fmt.Errorf("%s is out of date, %s=1 updates it (-stored +real):\n%s", r.path, updating, diff)
	}
	return nil
}

func forms(parts map[string][]byte, form func(string, []byte) string) []string {
	var list []string
	for name, data := range parts {
		list = append(list, form(name, data))
	}
	slices.Sort(list)
	return list
}

func (r *Results) write(t testing.TB) {
	t.Helper()
	a := &txtar.Archive{Comment: []byte("What real programs answered. It is written by a live test with " + updating + ".\n")}
	for _, name := range slices.Sorted(maps.Keys(r.seen)) {
		a.Files = append(a.Files, txtar.File{Name: name, Data: encode(r.seen[name])})
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.path, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// encode quotes data that an archive cannot hold unchanged.
func encode(data []byte) []byte {
	plain := len(data) == 0 || data[len(data)-1] == '\n' && !quoted(data) && utf8.Valid(data) &&
		!bytes.HasPrefix(data, []byte("-- ")) && !bytes.Contains(data, []byte("\n-- ")) && !bytes.Contains(data, []byte("\r"))
	if plain {
		return data
	}
	text := string(data)
	if strconv.CanBackquote(text) {
		return []byte("`" + text + "`\n")
	}
	return []byte(strconv.Quote(text) + "\n")
}

func quoted(data []byte) bool { return len(data) > 0 && (data[0] == '"' || data[0] == '`') }

func decode(t testing.TB, data []byte) []byte {
	t.Helper()
	if !quoted(data) {
		return data
	}
	text, err := strconv.Unquote(string(bytes.TrimSuffix(data, []byte("\n"))))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}
