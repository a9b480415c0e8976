package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// bind shows a part of this machine.
func (b *bundle) bind(s *ociSpec, o op) error {
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
	if b.way == Crun && !info.IsDir() { // crun takes what it is to change wholly for a directory
		options, readonly = []string{"bind", "private", "nosuid", "nodev"}, "ro"
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
