package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
)

// FuzzLayer checks, for any bytes as a layer, that errors have their type and nothing outside is
// changed.
func FuzzLayer(f *testing.F) {
	f.Add(zip(f, pack(f, symlink("up", "../../.."), regular("up/a", "x"))))
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd})
	f.Fuzz(func(t *testing.T, layer []byte) { unpackInto(t, layer) })
}

// FuzzEntries checks that the disk has what the tree says, for any entries. Each line is an
// entry: its kind, its name, and its target. An empty line ends a layer.
func FuzzEntries(f *testing.F) {
	f.Add("d d\nf d/a\nl l /d\nh h l/a\n\nf l/.wh.a\nf l/b\nf l")
	f.Add("l up ../../..\nf up/a\n\nf up/.wh..wh..opq\nd up\nh up up/a\nc dev/a\nl a b\nl b a\nf a/x")
	f.Fuzz(func(t *testing.T, text string) {
		var layers [][]byte
		for part := range strings.SplitSeq(text, "\n\n") {
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			for line := range strings.SplitSeq(part, "\n") {
				words := append(strings.Split(line, " "), "", "", "")
				kind := map[string]byte{"d": tar.TypeDir, "f": tar.TypeReg, "l": tar.TypeSymlink, "h": tar.TypeLink, "c": tar.TypeChar}[words[0]]
				_ = w.WriteHeader(&tar.Header{Typeflag: kind, Name: words[1], Linkname: words[2], Mode: int64(len(line))})
			}
			_ = w.Close() // an entry that cannot be written is left out
			layers = append(layers, b.Bytes())
		}
		unpackInto(t, layers...)
	})
}

// unpackInto unpacks layers into a directory, and checks all invariants.
func unpackInto(t *testing.T, layers ...[]byte) {
	t.Helper()
	outside := t.TempDir()
	root := filepath.Join(outside, "a", "root")
	if err := os.MkdirAll(root, modeDir); err != nil {
		t.Fatal(err)
	}
	limits := bounds{bytes: 1 << 20, entries: 200, names: 1 << 16, depth: 10, ratioFrom: 1 << 20}
	limits.setDefaults()
	u, err := newUnpacker("image", limits, root)
	if err != nil {
		t.Fatal(err)
	}
	defer u.close()
	for _, layer := range layers {
		ctx, cancel := context.WithCancel(t.Context())
		err = u.apply(ctx, cancel, layerID{digest.FromBytes(layer), diffOf(layer)}, bytes.NewReader(layer))
		cancel()
		if err != nil {
			break
		}
	}
	if err != nil && !isA[*Error](err) && !isA[*LimitError](err) && !isA[*fs.PathError](err) && !isA[*os.LinkError](err) {
		t.Errorf("%T %v", err, err)
	}
	for _, dir := range []string{outside, filepath.Dir(root)} {
		if found, err := os.ReadDir(dir); err != nil || len(found) != 1 {
			t.Errorf("outside there is %v, %v", found, err)
		}
	}
	found, indexErr := u.tree.confirm(t.Context(), root, err == nil)
	if err == nil && (indexErr != nil || found.odd != "") {
		t.Error(found.odd, indexErr)
	}
	for _, e := range found.entries {
		if m := e.mode.Perm(); e.mode&fs.ModeSymlink == 0 && m != 0o755 && m != 0o644 {
			t.Errorf("%s: %v", e.path, e.mode)
		}
	}
}

// FuzzIndex checks that a decoded index is encoded as the same bytes.
func FuzzIndex(f *testing.F) {
	mine := digest.FromString("mine")
	head := indexHead + mine.String() + "\n"
	f.Add([]byte(head), true)
	f.Add(encodeIndex(mine, []entry{{path: "a", mode: 0o644}, {path: "l", mode: fs.ModeSymlink}}), false)
	f.Add([]byte(head+"20000000755 0 1 2 3 \".\"\n644 5 1 2 3 \"a\"\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, sign bool) {
		if sign { // otherwise most inputs fail the checksum
			sum := sha256.Sum256(data)
			data = append(bytes.Clone(data), "sum "+digest.NewDigestFromBytes(digest.SHA256, sum[:]).Encoded()+"\n"...)
		}
		entries, err := decodeIndex(data, mine)
		if err != nil {
			return
		}
		again, err := decodeIndex(encodeIndex(mine, entries), mine)
		if err != nil || len(again) != len(entries) {
			t.Fatalf("%v", err)
		}
		for i := range entries {
			if again[i] != entries[i] {
				t.Errorf("%+v became %+v", entries[i], again[i])
			}
		}
	})
}

// FuzzImageConfig checks that a decoded config can be passed to the system.
func FuzzImageConfig(f *testing.F) {
	f.Add([]byte(`{"os":"linux","config":{"Entrypoint":["a"],"Env":["A=b"],"WorkingDir":"x"},"rootfs":{"diff_ids":["x"]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeConfig(data, 1)
		if err == nil && (!strings.HasPrefix(c.WorkingDir, "/") || strings.ContainsRune(strings.Join(c.argv(Command{}), ""), 0)) {
			t.Errorf("%+v", c)
		}
	})
}
