package sandbox

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// group is the control group of one job. It limits all processes of the job together; a limit
// on each process does not count shared memory. If this user can make no group, the limits on
// each process have to do.
type group struct {
	dirs  []string   // one, or one for each controller
	procs []*os.File // the file in each by which a stage joins
}

// groupPrefix is the prefix of the names of groups.
const groupPrefix = "krmcat-"

// staleAfter is the age at which an empty group counts as left behind. A new group is joined
// within a moment.
const staleAfter = time.Minute

// findGroups returns the directories in which groups can be made. It tries that with one.
func findGroups() []string {
	if !cgroupsWork() {
		return nil
	}
	var parents []string
	for _, dir := range cgroupParents() {
		if unified() || within(dir, cgroupRoot+"/memory") || within(dir, cgroupRoot+"/pids") {
			parents = append(parents, dir)
		}
	}
	for _, parent := range parents {
		sweepGroups(parent)
	}
	g, err := newGroup(parents, Limits{}.OrDefault())
	if err != nil {
		return nil
	}
	g.close()
	return parents
}

// sweepGroups removes the groups of killed krmcats: those that are empty and not just made.
func sweepGroups(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, groupPrefix+"*"))
	for _, dir := range left {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > staleAfter {
			_ = os.Remove(dir) // fails if a process is in it
		}
	}
}

// mostProcesses is the highest limit on processes that the kernel accepts.
const mostProcesses = 4 << 20

// withInit returns limits with room for the first process of a PID namespace, which is in the
// group too. In cgroup v1 that is two threads. In cgroup v2 it is all threads of the process.
// The stage sets the exact limit, except for root, who may then have a few processes more.
func (l Limits) withInit() Limits {
	room := 2
	if unified() {
		room = initThreads
	}
	l.Processes = min(l.Processes, mostProcesses) + room
	return l
}

// initThreads is more than the threads of the first process of a namespace: five or six.
const initThreads = 8

// newGroup makes a group in each parent.
func newGroup(parents []string, l Limits) (*group, error) {
	g := &group{}
	for _, parent := range parents {
		dir, err := os.MkdirTemp(parent, groupPrefix)
		if err != nil {
			g.close()
			return nil, err
		}
		g.dirs = append(g.dirs, dir)
		if err := g.limit(dir, l); err != nil {
			g.close()
			return nil, err
		}
	}
	if len(g.dirs) == 0 {
		return nil, errors.New("there is no place for it")
	}
	return g, nil
}

// limit writes the limits for the controllers that a directory has.
func (g *group) limit(dir string, l Limits) error {
	limits := 0
	for _, file := range []struct {
		name  string
		value int64
	}{
		{"memory.max", l.Memory}, {"memory.swap.max", 0},
		{"memory.limit_in_bytes", l.Memory}, {"memory.memsw.limit_in_bytes", l.Memory},
		{"pids.max", min(int64(l.Processes), mostProcesses)},
	} {
		err := os.WriteFile(filepath.Join(dir, file.name), []byte(strconv.FormatInt(file.value, 10)), 0)
		switch {
		case err == nil:
			limits++
		case errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission): // of another version or controller
		case strings.Contains(file.name, "sw"): // this machine has no swap
		default:
			return err
		}
	}
	if limits == 0 {
		return errors.New("it limits nothing")
	}
	// To move a process, the kernel waits for every processor: ten milliseconds or more. It
	// does not wait for a thread that moves itself, and a stage becomes the job on its only
	// thread. Only cgroup v1 moves threads.
	f, err := os.OpenFile(filepath.Join(dir, "tasks"), os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		f, err = os.OpenFile(filepath.Join(dir, "cgroup.procs"), os.O_WRONLY, 0)
	}
	if err != nil {
		return err
	}
	g.procs = append(g.procs, f)
	return nil
}

// starved reports whether the kernel killed a process of the group for lack of memory.
func (g *group) starved() bool {
	for _, dir := range g.dirs {
		for _, name := range []string{"memory.events", "memory.oom_control"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				continue
			}
			for line := range bytes.Lines(data) {
				if n, found := strings.CutPrefix(strings.TrimSpace(string(line)), "oom_kill "); found && n != "0" {
					return true
				}
			}
		}
	}
	return false
}

// close kills the processes of the group and removes it. g may be nil.
func (g *group) close() {
	if g == nil {
		return
	}
	for _, f := range g.procs {
		_ = f.Close()
	}
	for _, dir := range g.dirs {
		for range groupTries {
			if err := os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
				break
			}
			g.kill(dir)
		}
	}
}

// groupTries is how often the processes of a group are killed before it is left behind. A
// killed process may have started others before, up to the limit.
const groupTries = 100

func (g *group) kill(dir string) {
	if os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) == nil {
		return
	}
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return
	}
	for field := range bytes.FieldsSeq(data) {
		if pid, err := strconv.Atoi(string(field)); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
