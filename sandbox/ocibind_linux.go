package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// spread puts the entries of a directory in place of the directory where that is to be the
// root itself, over which not every runtime can mount. Sockets and devices are no entries,
// nor is what another op stands in place of.
func spread(view []op) ([]op, error) {
	var out []op
	for i, o := range view {
		if o.kind != opBind || o.dst != "/" {
			out = append(out, o)
			continue
		}
		entries, err := os.ReadDir(o.src)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			name := filepath.Join(o.src, e.Name())
			entry := op{kind: opBind, src: name, dst: "/" + e.Name(), write: o.write}
			if slices.ContainsFunc(view[i+1:], func(l op) bool { return l.dst == entry.dst }) {
				continue
			}
			switch e.Type() {
			case fs.ModeSymlink:
				entry.kind = opSymlink
				if entry.src, err = os.Readlink(name); err != nil {
					return nil, err
				}
			case fs.ModeDir, 0:
			default:
				continue
			}
			out = append(out, entry)
		}
	}
	return out, nil
}

// bind shows a part of this machine, over parts of which later ops stand.
func (b *bundle) bind(s *ociSpec, o op, later []op) error {
	if err := b.bindOne(s, o); err != nil || b.way != Crun || s.Linux.UIDMappings == nil {
		return err
	}
	// In a user namespace of its own making, crun shows a directory without what is mounted
	// below it.
	below, err := submounts(o.src)
	if err != nil {
		return err
	}
	for _, src := range below {
		sub := op{kind: opBind, src: src, dst: path.Join(o.dst, strings.TrimPrefix(src, o.src)), write: o.write}
		if slices.ContainsFunc(later, func(l op) bool { return within(sub.dst, l.dst) }) {
			continue
		}
		if err := b.bindOne(s, sub); err != nil {
			return err
		}
	}
	return nil
}

// bindOne adds one mount. The options that begin with an r count for all that is mounted
// below it, which "ro" alone does not say.
func (b *bundle) bindOne(s *ociSpec, o op) error {
	info, err := os.Stat(o.src)
	if err != nil {
		return err
	}
	options := []string{"rbind", "rprivate", "rnosuid", "rnodev"}
	readonly := "rro"
	// crun opens what it is to change wholly, as a directory that anybody may list.
	if b.way == Crun && (!info.IsDir() || info.Mode().Perm()&0o004 == 0) {
		options, readonly = []string{"bind", "private", "nosuid", "nodev"}, "ro"
		if info.IsDir() {
			options[0], options[1] = "rbind", "rprivate"
			if below, err := submounts(o.src); err != nil || len(below) > 0 && !o.write {
				return errors.Join(err, fmt.Errorf("%s cannot be shown read-only: not everybody may list it, and something is mounted in it", o.src))
			}
		}
	}
	if !o.write {
		options = append(options, readonly)
	}
	s.Mounts = append(s.Mounts, ociMount{Destination: o.dst, Type: "bind", Source: o.src, Options: options})
	return nil
}

// maxMountinfo is how much of the list of mounts is read, in bytes, and maxSubmounts how
// many may be below one directory.
const (
	maxMountinfo = 16 << 20
	maxSubmounts = 1000
)

// submounts lists what is mounted below a directory, from the top.
func submounts(dir string) ([]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var found []string
	lines := bufio.NewScanner(io.LimitReader(f, maxMountinfo))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		at := mountEscapes().Replace(fields[4])
		if at != dir && within(at, dir) {
			found = append(found, at)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	slices.Sort(found)
	found = slices.Compact(found)
	if len(found) > maxSubmounts {
		return nil, fmt.Errorf("%d file systems are mounted below %s, more than %d", len(found), dir, maxSubmounts)
	}
	return found, nil
}

// mountEscapes are the characters that the kernel writes otherwise in the list of mounts.
func mountEscapes() *strings.Replacer {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
}
