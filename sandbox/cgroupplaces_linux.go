package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// cgroupRoot is where control groups are mounted by convention.
const cgroupRoot = "/sys/fs/cgroup"

// unified reports whether control groups are of version 2 alone.
func unified() bool {
	var st unix.Statfs_t
	return unix.Statfs(cgroupRoot, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC
}

// cgroupParents returns the directories in which groups for jobs belong. In cgroup v1 these are
// the groups of this process. In cgroup v2 it is the parent of its group: a group with
// processes can have no groups below it.
func cgroupParents() []string {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	one := unified()
	var dirs []string
	for line := range bytes.Lines(data) { // 4:memory:/path
		parts := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		switch {
		case len(parts) != 3:
		case one && parts[1] == "":
			dirs = append(dirs, filepath.Join(cgroupRoot, filepath.Dir(filepath.Clean("/"+parts[2]))))
		case !one && parts[1] == "":
			dirs = append(dirs, filepath.Join(cgroupRoot, "unified", parts[2]))
		case !one:
			dirs = append(dirs, filepath.Join(cgroupRoot, strings.TrimPrefix(parts[1], "name="), parts[2]))
		}
	}
	return dirs
}

// cgroupsWork reports whether groups with limits can be made: the directories are writable and
// have the controllers for memory and processes.
func cgroupsWork() bool {
	dirs := cgroupParents()
	if unified() {
		return len(dirs) == 1 && handsOn(dirs[0]) && isIn(cgroupRoot, "/proc/self/cgroup", os.Getpid())
	}
	for _, controller := range []string{"memory", "pids"} {
		if !slices.ContainsFunc(dirs, func(dir string) bool {
			return within(dir, filepath.Join(cgroupRoot, controller)) && unix.Access(dir, unix.W_OK) == nil
		}) {
			return false
		}
	}
	return true
}

// handsOn reports whether groups in a directory of cgroup v2 have the controllers, and this
// process may move into them. It may if it can write to the directory, which is its own group
// or the parent of that.
func handsOn(dir string) bool {
	if unix.Access(dir, unix.W_OK) != nil || unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) != nil {
		return false
	}
	on, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	names := strings.Fields(string(on))
	return err == nil && slices.Contains(names, "memory") && slices.Contains(names, "pids")
}

// isIn reports whether a process is in the cgroup v2 group that a file like /proc/self/cgroup
// names. It is not in a container that has a cgroup namespace but sees the machine's mount:
// the group by that name is another one.
func isIn(root, file string, pid int) bool {
	data, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		procs, err := os.ReadFile(filepath.Join(root, filepath.Clean(path), "cgroup.procs"))
		return err == nil && slices.Contains(strings.Fields(string(procs)), strconv.Itoa(pid))
	}
	return false
}
