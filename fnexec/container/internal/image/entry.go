package image

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/krmcat/krmcat/internal/ownfile"
)

// put adds a node to the tree.
func (u *unpacker) put(s spot, n *node) {
	n.layer = u.layer
	s.dir.names[s.base] = n
}

// clear removes the entry that a new one replaces, with everything below it.
func (u *unpacker) clear(s spot) error {
	n := s.dir.names[s.base]
	if n == nil {
		return nil
	}
	if n.kind == kindDir {
		u.leave() // the open directory may be in it
	}
	dir, err := u.enter(s.path)
	if err != nil {
		return err
	}
	if err := dir.RemoveAll(s.base); err != nil {
		return err
	}
	delete(s.dir.names, s.base)
	return nil
}

func (u *unpacker) dir(s spot, mtime time.Time) error {
	if n := s.dir.names[s.base]; n != nil && n.kind == kindDir {
		n.layer, n.mtime = u.layer, mtime
		return nil
	}
	if err := u.clear(s); err != nil {
		return err
	}
	dir, err := u.enter(s.path)
	if err != nil {
		return err
	}
	if err := dir.Mkdir(s.base, modeDir); err != nil {
		return err
	}
	if err := dir.Chmod(s.base, modeDir); err != nil { // independent of the umask
		return err
	}
	u.put(s, &node{kind: kindDir, mtime: mtime, names: map[string]*node{}})
	return nil
}

func (u *unpacker) file(s spot, h *tar.Header, content io.Reader) error {
	if sparse(h) {
		// Holes take no bytes of the layer, so the ratio of compression does not show a bomb.
		if u.holes += h.Size; u.holes > u.limits.ratioFrom {
			return u.limit("bytes of files with holes", u.limits.ratioFrom)
		}
	}
	mode := os.FileMode(modeFile)
	if h.Mode&0o111 != 0 {
		mode = modeProgram
	}
	if err := u.clear(s); err != nil {
		return err
	}
	dir, err := u.enter(s.path)
	if err != nil {
		return err
	}
	written, err := u.write(dir, s.base, fileAs{mode, sane(h.ModTime)}, content)
	if err != nil {
		return err
	}
	u.put(s, &node{kind: kindFile, file: written})
	return nil
}

func sparse(h *tar.Header) bool {
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return true
		}
	}
	return h.Typeflag == tar.TypeGNUSparse
}

// fileAs holds the attributes of a file.
type fileAs struct {
	mode  os.FileMode
	mtime time.Time
}

// write makes a new file. No entry has its name: an old one was removed, and O_EXCL ensures that
// nothing is written through a link. The result has the metadata of the open file.
func (u *unpacker) write(dir *os.Root, name string, as fileAs, content io.Reader) (*writtenFile, error) {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, as.mode)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	err = errors.Join(u.copyTo(io.MultiWriter(f, h), content), f.Chmod(as.mode), dir.Chtimes(name, as.mtime, as.mtime))
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		return nil, err
	}
	w := &writtenFile{seen: seenEntry("", info)}
	h.Sum(w.sum[:0])
	return w, nil
}

func (u *unpacker) copyTo(w io.Writer, content io.Reader) error {
	for {
		n, err := content.Read(u.buf)
		if u.written += int64(n); u.written > u.limits.bytes {
			return u.limit("bytes unpacked", u.limits.bytes)
		}
		if _, err := w.Write(u.buf[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// symlink stores a link unchanged, whatever its target. It is only followed inside the image.
func (u *unpacker) symlink(s spot, text string) error {
	switch {
	case text == "":
		return errors.New("a link that leads nowhere")
	case int64(len(text)) > u.limits.path:
		return u.limit("bytes of one path", u.limits.path)
	}
	if err := u.named(len(text)); err != nil {
		return err
	}
	if err := u.clear(s); err != nil {
		return err
	}
	dir, err := u.enter(s.path)
	if err != nil {
		return err
	}
	if err := dir.Symlink(text, s.base); err != nil {
		return err
	}
	u.put(s, &node{kind: kindLink, text: text})
	return nil
}

// link makes a hard link to a file of this layer or of one below it.
func (u *unpacker) link(s spot, to string) error {
	name, err := entryName(to)
	if err != nil {
		return fmt.Errorf("what it links to: %w", err)
	}
	if len(name) == 0 {
		return errors.New("it is a link to the root")
	}
	old, err := u.spot(name, nil)
	if err != nil {
		return fmt.Errorf("what it links to: %w", err)
	}
	n := old.dir.names[old.base]
	switch {
	case n == nil:
		return errors.New("what it links to is not there")
	case n.kind == kindDir:
		return errors.New("it is a link to a directory")
	case n == s.dir.names[s.base]:
		return nil
	case n.kind == kindLink:
		return u.symlink(s, n.text)
	}
	if err := u.clear(s); err != nil {
		return err
	}
	file := n.file
	if err := u.root.Link(old.full(), s.full()); err != nil {
		if file, err = u.copyOf(old, s, file.sum); err != nil {
			return err
		}
	}
	u.put(s, &node{kind: kindFile, file: file})
	return nil
}

// copyOf replaces a hard link that the file system cannot make. sum is the digest of the content.
func (u *unpacker) copyOf(old, s spot, sum [sha256.Size]byte) (*writtenFile, error) {
	in, err := ownfile.OpenBelow(u.root.Name(), filepath.Join(u.root.Name(), old.full()))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	w, err := u.write(u.root, s.full(), fileAs{info.Mode().Perm(), info.ModTime()}, in)
	if err == nil && w.sum != sum {
		err = notAsWritten(old.full())
	}
	return w, err
}

// whiteout removes what lower layers have at a path; for an opaque one, what they have in its
// directory.
func (u *unpacker) whiteout(name []string, hidden string) error {
	s, err := u.spot(name, nil)
	if errors.Is(err, errNotThere) || errors.Is(err, errNotDir) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.base == whiteoutAll {
		return u.sweep(s.dir, s.path)
	}
	s.base = hidden
	n := s.dir.names[hidden]
	if n == nil {
		return nil
	}
	return u.hide(s, n)
}

// hide removes a node, unless this layer has it or something below it.
func (u *unpacker) hide(s spot, n *node) error {
	if n.kind == kindDir {
		if err := u.sweep(n, s.full()); err != nil || len(n.names) > 0 {
			return err
		}
	}
	if n.layer == u.layer {
		return nil
	}
	return u.clear(s)
}

// sweep removes what lower layers have in a directory, once for each layer, so that a layer with
// many whiteouts is not slow.
func (u *unpacker) sweep(n *node, path string) error {
	if n.swept == u.layer {
		return nil
	}
	n.swept = u.layer
	for base, c := range n.names {
		if err := u.hide(spot{n, path, base}, c); err != nil {
			return err
		}
	}
	return nil
}
