//go:build linux

package escape

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// attempt is one way to get out of a sandbox.
type attempt struct {
	name string
	args []string // of the program; @ at the start of an argument is the target, $CACHE is krmcat's cache
	// free holds the arguments for the attempt without a sandbox, in place of args. unfree says why
	// the attempt is not made without one.
	free   []string
	unfree string
	flags  []string // of krmcat
	wall   string   // what krmcat reports about the sandbox
	said   string   // what else the error message contains
	ends   bool     // the attempt may also succeed: after checks what it leaves
	// holds returns why a cage does not prevent the attempt, "" if it does. An attempt that is
	// known to succeed is skipped, and the test prints the reason.
	holds func(cage) string
	// setup prepares a target, and after looks for traces. Its parameter free is set if nothing
	// confined the attempt, so that it succeeded.
	setup    func(t *testing.T, w *outside, target string)
	after    func(t *testing.T, w *outside, target string, free bool)
	terminal bool // krmcat runs with a terminal
	asUser   bool // without a sandbox, a user who is not root makes the attempt
	heavy    bool // it exhausts a resource of the machine: it runs alone
}

const (
	noNetwork = "the sandbox: it has no network"
	readOnly  = "the sandbox: it may write only to /tmp"
	tempFull  = "the sandbox: /tmp and /dev/shm hold at most 256 MiB each"
	noMemory  = "the sandbox: it may use 128 MiB of memory"
	noForks   = "the sandbox: it may have 100 processes"
)

// engineFilter is for system calls that docker and podman allow or deny by profiles of their own.
func engineFilter(c cage) string {
	if c.daemon {
		return "what " + c.runtime + " denies depends on its own profile"
	}
	return ""
}

// podmanFilter is for system calls that podman allows and docker denies.
func podmanFilter(c cage) string {
	if c.runtime == "podman" {
		return engineFilter(c)
	}
	return ""
}

// pipes is for named pipes, which a read-only mount does not protect from being written to.
func pipes(c cage) string {
	if c.image {
		return ""
	}
	return "the function can write to a named pipe that it sees, if the mode of the pipe allows it"
}

// together is for limits on the sum of all processes of a function.
func together(c cage) string {
	if c.asUser || os.Geteuid() != 0 {
		return "without a control group of its own, the limit holds for each process, not for their sum"
	}
	return ""
}

// attempts returns all attempts.
func (w *outside) attempts() []attempt {
	out := append(w.atFiles(), w.atServices()...)
	out = append(out, w.atProcesses()...)
	out = append(out, atEndings()...)
	out = append(out, w.atKernel()...)
	return append(out, w.atLimits()...)
}

func (w *outside) atFiles() []attempt {
	mark := "krmcat-escaped-" + filepath.Base(w.base)
	elsewhere := []string{"/" + mark, "/usr/" + mark, "/etc/" + mark, "/var/" + mark, "/dev/" + mark, "/run/" + mark, "/root/" + mark}
	ours := []string{"@/" + mark, w.place("home/" + mark), filepath.Join(w.temp, mark)}
	if os.Geteuid() == 0 { // a function of another user may write there in its own /tmp, which has its program
		ours = append(ours, w.place("bin/"+mark), w.place(mark))
	}
	unwritten := func(t *testing.T, _ *outside, target string, free bool) {
		for _, p := range append(ours, elsewhere...) {
			p = strings.Replace(p, "@", target, 1)
			if _, err := os.Lstat(p); err == nil {
				_ = os.Remove(p)
				if !free {
					t.Errorf("it wrote %s", p)
				}
			}
		}
	}
	unchanged := func(t *testing.T, w *outside, target string, free bool) {
		for _, p := range []string{filepath.Join(target, "file"), w.place("home/projects/notes")} {
			data, err := os.ReadFile(p)
			if err == nil && string(data) == secretText {
				continue // not written again: other cages read it meanwhile
			}
			if !free {
				t.Errorf("it changed %s: %q, %v", p, data, err)
			}
			w.file(t, p, secretText)
		}
	}
	config := w.place("home/.docker/config.json")
	return []attempt{
		{name: "read-home", args: []string{"read", w.place("home/projects/notes"), w.place("home/.ssh/id_ed25519"), w.place("home/.netrc"), "/proc/self/cwd/../../home/.netrc"}},
		{name: "read-docker-config", args: []string{"read", config, w.place("docker/config.json")}},
		{name: "read-kubeconfig", args: []string{"read", w.place("kube/config")}},
		{name: "read-through-link", args: []string{"read", "@/link", "@/up/home/.netrc"}, setup: func(t *testing.T, w *outside, target string) {
			for link, to := range map[string]string{"link": config, "up": w.base} {
				if err := os.Symlink(to, filepath.Join(target, link)); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{name: "read-through-proc", args: []string{"proc-files", config, w.place("kube/config")}},
		{name: "read-other-project", args: []string{"read", filepath.Join(w.temp, "other-project", "secret")}},
		{name: "read-cache", args: []string{"read", "$CACHE/secret"}},
		{name: "list-home", args: []string{"list", w.place("home:projects"), "/tmp:" + filepath.Base(w.temp), "/root:."}, free: []string{"list", w.place("home:projects")}},
		{name: "write-outside", args: append([]string{"write"}, elsewhere...), free: []string{"write", w.place("control/" + mark)}, wall: readOnly, after: unwritten},
		{name: "write-ours", args: append([]string{"write"}, ours...), after: unwritten},
		{name: "change-target", args: []string{"append", "@/file", "@/kustomization.yaml", w.place("home/projects/notes")}, after: unchanged, setup: withFile},
		{name: "remove-target", args: []string{"remove", "@/file"}, after: unchanged, setup: withFile},
		{name: "write-kernel", args: []string{"open", "+/proc/sys/kernel/core_pattern", "+/proc/sys/kernel/modprobe", "+/proc/sysrq-trigger",
			"+/sys/kernel/uevent_helper", "+/sys/power/state"}},
		{name: "devices", args: []string{"open", "/dev/kmsg", "/dev/mem", "/dev/sda", "/dev/vda", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/loop0",
			"/dev/loop-control", "/dev/vsock", "/dev/console", "/dev/tty0", "/proc/kcore", "/proc/kmsg", "/sys/kernel/debug/tracing/trace"}},
		{name: "mknod", args: []string{"mknod", "@"}, free: []string{"mknod", w.place("control")}},
		{name: "descriptors", args: []string{"descriptors"}, unfree: "krmcat passes no file descriptors on without a sandbox either"},
	}
}

func withFile(t *testing.T, w *outside, target string) {
	w.file(t, filepath.Join(target, "file"), secretText)
}

func (w *outside) atServices() []attempt {
	s := w.servers
	return []attempt{
		{name: "tcp", args: append([]string{"tcp"}, s.tcp...), wall: noNetwork},
		{name: "udp", args: append([]string{"udp"}, s.udp...)},
		{name: "unix-sockets", args: append([]string{"unix"}, s.unix...)},
		{name: "unix-socket-in-target", args: []string{"unix", "@/sock"}, setup: func(t *testing.T, w *outside, target string) {
			w.servers.listen(t, filepath.Join(target, "sock"))
		}},
		{name: "unix-datagram-in-target", args: []string{"unix-pair", "@/datagrams"}, setup: func(t *testing.T, w *outside, target string) {
			w.servers.datagrams(t, filepath.Join(target, "datagrams"))
		}},
		{name: "pipe-in-target", holds: pipes, args: []string{"fifo", "@/pipe"}, setup: func(t *testing.T, _ *outside, target string) {
			openPipe(t, filepath.Join(target, "pipe"))
		}},
		{name: "packets", args: []string{"packet"}},
		{name: "vsock", holds: engineFilter, args: []string{"vsock"}},
	}
}

func (w *outside) atProcesses() []attempt {
	alive := func(t *testing.T, w *outside, _ string, free bool) {
		if free {
			w.startVictim(w.test)
		} else if !w.lives() {
			t.Error("it killed a process of the user")
		}
	}
	gone := func(t *testing.T, w *outside, target string, free bool) { leftBehind(t, target, free) }
	return []attempt{
		{name: "see-processes", args: []string{"processes", w.marker}},
		{name: "secret-in-environment", args: []string{"environ"}},
		{name: "kill", args: []string{"kill", w.victim}, after: alive},
		{name: "kill-parent", args: []string{"kill-parent"}, said: "parent"},
		{name: "kill-all", args: []string{"kill-all"}, said: "kill -1"}, // not in a batch: it would kill the other attempts
		{name: "ptrace", args: []string{"ptrace", w.victim}},
		{name: "read-memory", args: []string{"vm-read", w.victim}},
		{name: "linger", args: []string{"linger", "@/still-here"}, ends: true, after: gone},
		{name: "linger-holding-output", args: []string{"linger-holding", "@/still-here"}, ends: true, after: gone},
	}
}

// atEndings returns attempts to end by a signal and look successful, and attempts on the first
// process of the sandbox. Without a sandbox there is no such process.
func atEndings() []attempt {
	var out []attempt
	for _, e := range []struct{ how, said string }{
		{"1", "signal 1 (hangup)"}, {"6", "signal 6 (aborted)"}, {"9", "signal 9 (killed)"}, {"15", "signal 15 (terminated)"},
		{"alarm", "signal 14 (alarm clock)"}, {"cpu", "signal 24 (CPU time limit exceeded)"},
		{"filter", "signal 31 (bad system call)"}, {"fault", "signal 11 (segmentation fault)"},
	} {
		out = append(out, attempt{name: "end-by-" + e.how, args: []string{"end", e.how}, said: "ended by " + e.said, unfree: "the kernel ends it"})
	}
	const none = "without a sandbox there is no first process"
	return append(out,
		attempt{name: "signal-first", args: []string{"signal-first"}, said: "lives on", unfree: none, holds: enginesInit},
		attempt{name: "enter-first", args: []string{"enter-first"}, said: "shows nothing", unfree: none, holds: enginesInit},
		attempt{name: "limit-first", args: []string{"limit-first"}, said: "it ends all the same", unfree: none, holds: enginesInit})
}

// enginesInit is for attempts on the first process of an engine's container.
func enginesInit(c cage) string {
	if c.daemon {
		return "the first process belongs to " + c.runtime + ", and runs as the function's user"
	}
	return ""
}

func (w *outside) atKernel() []attempt {
	return []attempt{
		{name: "setuid", args: []string{"setuid"}},
		{name: "setuid-file", args: []string{"run-as", w.place("bin/setuid")}, asUser: true},
		{name: "file-capabilities", args: []string{"capabilities", w.place("bin/capable")}, asUser: true},
		{name: "mount", args: []string{"mount"}, free: []string{"mount", w.place("control")}},
		{name: "remount", args: []string{"remount"}, unfree: "it would change this machine"},
		{name: "unshare", args: []string{"unshare"}},
		{name: "user-namespace", holds: podmanFilter, args: []string{"user-namespace"}},
		{name: "setns", args: []string{"setns", w.victim}},
		{name: "chroot", args: []string{"chroot"}},
		{name: "io-uring", holds: engineFilter, args: []string{"io-uring"}},
		{name: "bpf", args: []string{"bpf"}},
		{name: "keys", args: []string{"keys"}},
		{name: "file-handles", args: []string{"handle"}},
		{name: "cgroup", args: []string{"cgroup", w.place("control")}},
		{name: "terminal", args: []string{"terminal"}, terminal: true},
		{name: "thirty-two-bit", holds: engineFilter, args: []string{"thirty-two"}},
	}
}

func (w *outside) atLimits() []attempt {
	memory, processes := []string{"--memory", "128M"}, []string{"--processes", "100"}
	return []attempt{
		{name: "fork-bomb", args: []string{"forks", "300"}, flags: processes, wall: noForks, heavy: true},
		{name: "thread-bomb", args: []string{"threads", "300"}, flags: processes, heavy: true},
		{name: "fill-tmp", args: []string{"fill", "300", "/tmp"}, free: []string{"fill", "300", w.place("control")}, wall: tempFull, heavy: true},
		{name: "fill-shm", args: []string{"fill", "300", "/dev/shm"}, free: []string{"fill", "300", w.place("control")}, heavy: true},
		{name: "private-memory", args: []string{"private-memory", "256"}, flags: memory, wall: noMemory, heavy: true},
		{name: "shared-memory", args: []string{"shared-memory", "256"}, flags: memory, heavy: true},
		{name: "memfd", args: []string{"memfd", "256"}, flags: memory, heavy: true},
		{name: "memory-of-many", holds: together, args: []string{"many-memory", "4", "64"}, flags: memory, wall: noMemory, heavy: true},
		{name: "stdout", args: []string{"flood", "1024"}, unfree: "the limit is krmcat's, not the sandbox's", heavy: true},
	}
}
