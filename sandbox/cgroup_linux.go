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

// group is a control group of one job: limits on all of its processes together, where
// limits on each would leave a way around (memory that is shared is no process's). Where
// this user may make none, those on each process have to do.
type group struct {
	dirs  []string   // one, or one for each controller
	procs []*os.File // where a stage joins it
}

// groupPrefix is what the names of groups start with.
const groupPrefix = "krmcat-"

// staleAfter is how old a group must be before it is taken for left behind: between one that
// is made and one that is joined is a moment.
const staleAfter = time.Minute

// findGroups finds where groups can be made: it makes one, and removes it again.
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

// sweepGroups removes what processes that were killed left behind: a group with nobody in
// it that is not just about to be joined.
func sweepGroups(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, groupPrefix+"*"))
	for _, dir := range left {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > staleAfter {
			_ = os.Remove(dir) // which fails where somebody is in it
		}
	}
}

// mostProcesses is the most that the kernel takes for a limit, and has at one time.
const mostProcesses = 4 << 20

// withInit are limits of a group that the first process of a namespace is in too: they have
// room for it. In a group of the first version it is one thread, the others stay outside. In one
// of the second it is all of them, of which the stage counts those that count as the
// function's: room for more does harm to none but a root whom the stage's limit does not bind.
func (l Limits) withInit() Limits {
	room := 1
	if unified() {
		room = initThreads
	}
	l.Processes = min(l.Processes, mostProcesses) + room
	return l
}

// initThreads is more threads than the first process of a namespace has: four or five.
const initThreads = 8

// newGroup makes a group.
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

// limit writes down the limits whose controller a directory has.
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
		case errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission): // another version's, or another controller's
		case strings.Contains(file.name, "sw"): // a machine without swap has none to limit
		default:
			return err
		}
	}
	if limits == 0 {
		return errors.New("it limits nothing")
	}
	// A process that moves has the kernel wait until every processor has seen it, ten
	// milliseconds and more. A thread that moves itself does not, and what a stage becomes
	// is its one thread; only groups of the first version take threads.
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

// starved reports whether the kernel ended a process for want of memory.
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

// close ends what is left in it and removes it. There may be none.
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

// groupTries is how often the processes of a group are killed before it is left behind: new
// ones may be made meanwhile, though not more than its limit.
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
