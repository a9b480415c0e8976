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

// cgroupRoot is where control groups are mounted, by convention.
const cgroupRoot = "/sys/fs/cgroup"

// unified reports whether there is but one hierarchy of control groups.
func unified() bool {
	var st unix.Statfs_t
	return unix.Statfs(cgroupRoot, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC
}

// cgroupParents lists the directories in which control groups of jobs belong: this process's
// own, and on a unified hierarchy, where a group with processes has no other in it, the one
// that it is in.
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

// cgroupsWork reports whether a group of processes can be given limits: whether the
// directories can be written to, and the controllers are handed on.
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

// handsOn reports whether a directory of a unified hierarchy takes groups that have the
// controllers, and this process into them: out of its own group, which is the directory
// or in it, it moves by the right to write to what both have in common.
func handsOn(dir string) bool {
	if unix.Access(dir, unix.W_OK) != nil || unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) != nil {
		return false
	}
	on, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	names := strings.Fields(string(on))
	return err == nil && slices.Contains(names, "memory") && slices.Contains(names, "pids")
}

// isIn reports whether a process is in the group of a unified hierarchy that a file (as
// /proc/self/cgroup) names. It is not where a container has a namespace for its control
// groups, and is shown the machine's: what the names lead to is another's.
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
