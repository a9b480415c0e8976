//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// processes searches the command lines of other processes for a word.
func processes(words []string) error {
	found, seen := "", 0
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, p := range lines {
		data, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		seen++
		// The word is in the command line of this process, and in that of its batch.
		if bytes.Contains(data, []byte(words[0])) && !bytes.Contains(data, []byte("\x00processes\x00")) {
			found = p
		}
	}
	if found == "" {
		return fmt.Errorf("none of %d processes that are seen is it", seen)
	}
	fmt.Fprintln(os.Stderr, "it sees "+found)
	return nil
}

// environ looks for the secret in its own environment and in those of others.
func environ([]string) error {
	for _, e := range os.Environ() {
		if strings.Contains(e, secret) {
			return nil
		}
	}
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return err
	}
	for _, p := range append(files, "/proc/"+strconv.Itoa(os.Getppid())+"/environ") {
		if data, err := os.ReadFile(p); err == nil && bytes.Contains(data, []byte(secret)) {
			fmt.Fprintln(os.Stderr, "it reads "+p)
			return nil
		}
	}
	return fmt.Errorf("none of %d environments has it", len(files)+1)
}

// procFiles reads a file with the secret through the open files and directories of processes: PATH…
func procFiles(paths []string) error {
	var through []string
	for _, dir := range []string{"/proc/self", "/proc/1", "/proc/" + strconv.Itoa(os.Getppid())} {
		for _, p := range paths {
			through = append(through, dir+"/root"+p, dir+"/cwd/"+strings.Repeat("../", 20)+p)
		}
	}
	return read(through)
}

// inherited lists the descriptors that were inherited. It must run before anything opens one.
func inherited() []int {
	const most = 1 << 12
	var out []int
	for fd := 3; fd < most; fd++ {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			out = append(out, fd)
		}
	}
	return out
}

// descriptors searches for inherited descriptors that lead out of the sandbox: more than three, a
// directory, or a file or terminal of this machine.
func descriptors([]string) error {
	var leads []string
	for _, fd := range append([]int{0, 1, 2}, opened...) {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			continue
		}
		kind := st.Mode & unix.S_IFMT
		null := kind == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3)
		name, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		how, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if strings.HasPrefix(name, "/sys/fs/cgroup/") && how&unix.O_ACCMODE == unix.O_RDONLY {
			continue // the Go runtime opens it to count the CPUs
		}
		if fd > 2 && kind != 0 || kind != unix.S_IFIFO && kind != unix.S_IFSOCK && kind != 0 && !null {
			leads = append(leads, fmt.Sprintf("%d is %s (%o)", fd, name, kind))
		}
	}
	if leads == nil {
		return errors.New("nothing but pipes")
	}
	fmt.Fprintln(os.Stderr, strings.Join(leads, ", "))
	return nil
}

// kill ends a process: PID…
func kill(pids []string) error {
	return each(pids, func(p string) error { return fmtErr("kill "+p, unix.Kill(number(p), unix.SIGKILL)) })
}

// killParent kills the parent process. The kernel ignores signals to the first process of a
// namespace from inside, without an error.
func killParent([]string) error {
	parent := os.Getppid()
	if parent == 0 {
		return errors.New("its parent is not to be seen")
	}
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGKILL} {
		if err := unix.Kill(parent, s); err != nil {
			return fmtErr("killing its parent", err)
		}
	}
	for range 50 {
		if os.Getppid() != parent || unix.Kill(parent, 0) != nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("its parent lives on")
}

// killAll asks whether it may signal all processes, and sends no signal: after an escape it would
// end every process of the machine.
func killAll([]string) error { return fmtErr("kill -1", unix.Kill(-1, 0)) }

// forks starts more processes than the limit: N.
func forks(args []string) error {
	n := number(args[0])
	var children []*exec.Cmd
	defer func() {
		for _, c := range children {
			_ = c.Process.Kill()
		}
		for _, c := range children {
			_ = c.Wait()
		}
	}()
	for i := range n {
		c := start("as-child")
		c.Env = []string{"GOMAXPROCS=1"}
		if err := c.Start(); err != nil {
			return fmt.Errorf("after %d processes: %w", i, err)
		}
		children = append(children, c)
	}
	time.Sleep(200 * time.Millisecond) // those that cannot start their threads end
	alive := 0
	for _, c := range children {
		if !ended(c.Process.Pid) {
			alive++
		}
	}
	if alive < n {
		return fmt.Errorf("%d processes were started, of which %d could not live: resource temporarily unavailable", n, n-alive)
	}
	return nil
}

// ended reports whether a child is a zombie.
func ended(pid int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, rest, _ := bytes.Cut(data, []byte(") "))
	return bytes.HasPrefix(rest, []byte("Z"))
}

// threads starts more threads than the limit, without the Go runtime: N.
func threads(args []string) error {
	n := number(args[0])
	stay, cancel, err := os.Pipe()
	if err != nil {
		return err
	}
	_ = cancel
	for range n {
		go func() { _, _ = unix.Read(int(stay.Fd()), make([]byte, 1)) }() // each blocks a thread
	}
	for range 100 {
		time.Sleep(20 * time.Millisecond)
		tasks, err := os.ReadDir("/proc/self/task")
		if err == nil && len(tasks) >= n {
			return nil
		}
	}
	return errors.New("there are fewer")
}

func privateMemory(args []string) error {
	return eat(number(args[0]), unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1)
}

func sharedMemory(args []string) error {
	return eat(number(args[0]), unix.MAP_SHARED|unix.MAP_ANONYMOUS, -1)
}

func memfd(args []string) error {
	fd, err := unix.MemfdCreate("eaten", 0)
	if err != nil {
		return fmtErr("memfd_create", err)
	}
	if err := unix.Ftruncate(fd, int64(number(args[0]))<<20); err != nil {
		return fmtErr("ftruncate", err)
	}
	return eat(number(args[0]), unix.MAP_SHARED, fd)
}

// eat maps that many MiB and touches every page.
func eat(mib, flags, fd int) error {
	const step = 16
	var kept [][]byte
	for had := 0; had < mib; had += step {
		m, err := unix.Mmap(fd, int64(had)<<20*int64(min(fd+1, 1)), step<<20, unix.PROT_READ|unix.PROT_WRITE, flags)
		if err != nil {
			return fmt.Errorf("after %d MiB: mmap: %w", had, err)
		}
		for i := 0; i < len(m); i += 4096 {
			m[i] = 1
		}
		kept = append(kept, m)
	}
	fmt.Fprintf(os.Stderr, "it has %d pieces of %d MiB\n", len(kept), step)
	return nil
}

// manyMemory does the same in each of several processes: N MIB.
func manyMemory(args []string) error {
	var children []*exec.Cmd
	defer func() {
		for _, c := range children {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}()
	for range number(args[0]) {
		c := start("as-eater", args[1])
		said, err := c.StderrPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			return err
		}
		children = append(children, c)
		line := make([]byte, 256)
		n, err := said.Read(line)
		if err != nil || !bytes.Contains(line[:n], []byte("it has")) {
			return fmt.Errorf("process %d: cannot allocate memory: %q, %v", len(children), line[:n], err)
		}
	}
	for _, c := range children {
		if ended(c.Process.Pid) {
			return errors.New("one of them was ended: cannot allocate memory")
		}
	}
	return nil
}

// flood writes that many MiB to stdout.
func flood(args []string) error {
	chunk := []byte(strings.Repeat("# nothing in here\n", (1<<20)/18+1))
	for range number(args[0]) {
		if _, err := os.Stdout.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

// linger leaves a process behind, in another process group and session, without inherited
// descriptors: NAME… The returned list is complete, since nothing has to be refused.
func linger(args []string) error { return leave(nil, args) }

// lingerHolding does the same, and the process keeps the streams open.
func lingerHolding(args []string) error { return leave([]*os.File{nil, os.Stdout, os.Stderr}, args) }

func leave(files []*os.File, args []string) error {
	c := start(append([]string{"as-first"}, args...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if files != nil {
		c.Stdout, c.Stderr = files[1], files[2]
	}
	c.Stdin = nil
	return c.Run()
}

// first is the process in the middle, which does not wait for its child.
func first(args []string) {
	c := start(append([]string{"as-lingerer"}, args...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		_, _ = io.WriteString(os.Stderr, err.Error())
		os.Exit(1)
	}
}
