package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"
)

// indexHead is the first line of an index. Its number changes with the format, and with what is
// unpacked: an image with an older index is unpacked again.
const (
	indexHead   = indexFamily + "3\n"
	indexFamily = "krmcat image index "
)

// maxIndex bounds an index, in bytes.
const maxIndex = 512 << 20

// entry is one line of an index: the metadata of a path when the image was unpacked.
type entry struct {
	path  string // from the root; "." for the root itself
	mode  fs.FileMode
	size  int64 // of a file, in bytes
	mtime int64 // nanoseconds since 1970
	ctime int64 // nanoseconds since 1970; 0 if the system has none
	inode uint64
}

// seenEntry returns the metadata of a path.
func seenEntry(path string, info fs.FileInfo) entry {
	e := entry{path: path, mode: info.Mode(), mtime: info.ModTime().UnixNano()}
	e.ctime, e.inode = identity(info)
	if e.mode.IsRegular() {
		e.size = info.Size()
	}
	return e
}

// encodeIndex writes the digest of the image, the entries, one a line, and a checksum of these
// lines. The checksum shows damage. It does not prove who wrote the index.
func encodeIndex(d digest.Digest, entries []entry) []byte {
	b := []byte(indexHead + d.String() + "\n")
	for _, e := range entries {
		b = strconv.AppendUint(b, uint64(e.mode), 8)
		for _, n := range []int64{e.size, e.mtime, e.ctime} {
			b = strconv.AppendInt(append(b, ' '), n, 10)
		}
		b = strconv.AppendUint(append(b, ' '), e.inode, 10)
		b = append(strconv.AppendQuote(append(b, ' '), e.path), '\n')
	}
	sum := sha256.Sum256(b)
	return append(hex.AppendEncode(append(b, "sum "...), sum[:]), '\n')
}

var errIndex = errors.New("it is not an index")

// decodeIndex reads an index of encodeIndex for the given image.
func decodeIndex(data []byte, d digest.Digest) ([]entry, error) {
	const tail = len("sum \n") + 2*sha256.Size
	body := data[:max(len(data)-tail, 0)]
	sum := sha256.Sum256(body)
	if string(data[len(body):]) != "sum "+hex.EncodeToString(sum[:])+"\n" {
		return nil, errors.New("its checksum is wrong")
	}
	rest, ok := strings.CutPrefix(string(body), indexHead+d.String()+"\n")
	if !ok {
		return nil, errIndex
	}
	entries := make([]entry, 0, strings.Count(rest, "\n"))
	for rest != "" {
		var line string
		if line, rest, ok = strings.Cut(rest, "\n"); !ok {
			return nil, errIndex
		}
		e, ok := decodeEntry(line)
		if !ok {
			return nil, errIndex
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func decodeEntry(line string) (entry, bool) {
	fields := strings.SplitN(line, " ", 6)
	if len(fields) != 6 {
		return entry{}, false
	}
	mode, err := strconv.ParseUint(fields[0], 8, 32)
	var n [3]int64
	for i := range n {
		var err2 error
		n[i], err2 = strconv.ParseInt(fields[1+i], 10, 64)
		err = errors.Join(err, err2)
	}
	inode, err2 := strconv.ParseUint(fields[4], 10, 64)
	e := entry{mode: fs.FileMode(mode), size: n[0], mtime: n[1], ctime: n[2], inode: inode}
	path, err3 := strconv.Unquote(fields[5])
	e.path = path
	return e, errors.Join(err, err2, err3) == nil
}

// walkRoot calls f for a directory and everything below it, in the same order each time.
func walkRoot(root string, f func(path string, info fs.FileInfo) error) error {
	info, err := os.Lstat(root)
	if err != nil {
		return err
	}
	if err := f(".", info); err != nil || !info.IsDir() {
		return err
	}
	return walkBelow(root, "", f)
}

func walkBelow(dir, path string, f func(path string, info fs.FileInfo) error) error {
	found, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, d := range found {
		info, err := d.Info()
		if err != nil {
			return err
		}
		p := path + d.Name()
		if err := f(p, info); err != nil {
			return err
		}
		if !info.IsDir() {
			continue
		}
		if err := walkBelow(filepath.Join(dir, d.Name()), p+"/", f); err != nil {
			return err
		}
	}
	return nil
}

func kindByMode(m fs.FileMode) kindOf {
	switch {
	case m.IsRegular():
		return kindFile
	case m.IsDir():
		return kindDir
	case m&fs.ModeSymlink != 0:
		return kindLink
	}
	return 0
}

// find returns the node of a path without following links; nil if there is none.
func (t *node) find(path string) *node {
	n := t
	for _, p := range parts(path) {
		if n = n.names[p]; n == nil {
			return nil
		}
	}
	return n
}

func (t *node) count() int {
	c := 1
	for _, n := range t.names {
		c += n.count()
	}
	return c
}

// errOtherFormat reports an index of another version of krmcat.
var errOtherFormat = errors.New("it is an index of another format")

// readIndex reads the index of an unpacked image.
func readIndex(file string, d digest.Digest) ([]entry, error) {
	data, err := readPlain(file, maxIndex)
	switch {
	case err != nil:
		return nil, err
	case !bytes.HasPrefix(data, []byte(indexHead)) && bytes.HasPrefix(data, []byte(indexFamily)):
		return nil, errOtherFormat
	}
	return decodeIndex(data, d)
}
