package sandbox_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/scratch"
	"github.com/krmcat/krmcat/sandbox"
)

// escaper is a program that tries to leave the sandbox: testdata/functions/escape.
func escaper(t *testing.T, dir string) string {
	t.Helper()
	program := filepath.Join(dir, "escape")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "../testdata/functions/escape")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the function: %v: %s", err, out)
	}
	return program
}

// openToAll makes a directory that every user may write to, not below /tmp if possible.
func openToAll(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/srv", "krmcat-landlock-") //nolint:usetesting // what lies in /tmp is hidden anyway
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// attempts are what Landlock and the seccomp filter must prevent by themselves, with the arguments
// for the control that is not confined; nil for the same.
func (l *landlocked) attempts() map[string][2][]string {
	dir := l.dir
	secret, mine := filepath.Join(dir, "home", "secret"), filepath.Join(dir, "control")
	return map[string][2][]string{
		"read-home":         {{"read", secret}},
		"read-through-link": {{"read", filepath.Join(dir, "target", "link")}},
		"read-through-proc": {{"proc-files", secret}},
		"write-outside": {{"write", "/krmcat-was-here", "/usr/krmcat-was-here", "/tmp/krmcat-was-here", "/var/krmcat-was-here", filepath.Join(dir, "home/new"), filepath.Join(dir, "target/new")},
			{"write", mine}},
		"change":    {{"append", filepath.Join(dir, "target", "file")}, {"append", mine}},
		"remove":    {{"remove", filepath.Join(dir, "target", "file")}, {"remove", mine}},
		"tcp":       {{"tcp", l.tcp}},
		"udp":       {{"udp", l.udp}},
		"socket":    {{"unix", filepath.Join(dir, "target", "sock")}},
		"pair":      {{"unix-pair", filepath.Join(dir, "target", "datagrams")}},
		"pipe":      {{"fifo", filepath.Join(dir, "target", "pipe")}},
		"abstract":  {{"unix", "@krmcat-" + filepath.Base(dir)}},
		"environ":   {{"environ"}},
		"memory":    {{"vm-read", l.victim}},
		"ptrace":    {{"ptrace", l.victim}},
		"namespace": {{"user-namespace"}},
		"unshare":   {{"unshare"}, nil},
		"keys":      {{"keys"}},
		"bpf":       {{"bpf"}, nil},
		"io-uring":  {{"io-uring"}},
		"families":  {{"families"}},
		"flags":     {{"flags", filepath.Join(dir, "target", "file")}, {"flags", mine}},
		"empty":     {{"empty", filepath.Join(dir, "target", "file")}, {"empty", mine}},
		"limit":     {{"limit-other", l.victim}},
		"slow":      {{"slow-other", l.victim, "all"}, {"slow-other", l.victim}},
		"ipc":       {{"ipc", l.memory}},
		"owner":     {{"signal-as-owner", l.victim}}, // last: without the sandbox it kills the victim
		"kill":      {{"kill", l.victim}},
	}
}

// landlocked is a program that tries to leave the sandbox, and what it tries to access.
type landlocked struct {
	dir, program, victim, memory, tcp, udp string
	environ                                []string
}

func newLandlocked(t *testing.T) *landlocked {
	t.Helper()
	dir := openToAll(t)
	l := &landlocked{dir: dir, program: escaper(t, dir)}
	for _, p := range []string{"home/secret", "target/file", "control"} {
		path := filepath.Join(dir, p)
		_ = os.MkdirAll(filepath.Dir(path), 0o777)
		if err := os.WriteFile(path, []byte("hunter2"), 0o666); err != nil {
			t.Fatal(err)
		}
		_, _ = os.Chmod(filepath.Dir(path), 0o777), os.Chmod(path, 0o666)
	}
	if err := os.Symlink(filepath.Join(dir, "home", "secret"), filepath.Join(dir, "target", "link")); err != nil {
		t.Fatal(err)
	}
	l.tcp, l.udp = services(t, dir)
	l.environ = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "SECRET=hunter2")
	l.newVictim(t)
	l.memory = numberedMemory(t)
	return l
}

// newVictim starts a process of the user's.
func (l *landlocked) newVictim(t *testing.T) {
	t.Helper()
	victim := exec.CommandContext(t.Context(), l.program, "as-victim")
	victim.Env = []string{"SECRET=hunter2"}
	stdin, err := victim.StdinPipe()
	if err == nil {
		err = victim.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = victim.Process.Kill(); _ = victim.Wait() })
	l.victim = strconv.Itoa(victim.Process.Pid)
}

// numberedMemory makes shared memory with a secret, which processes of the user find by a number.
func numberedMemory(t *testing.T) string {
	t.Helper()
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 64, unix.IPC_CREAT|0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	memory, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	copy(memory, "hunter2")
	if err := unix.SysvShmDetach(memory); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(id)
}

// alone returns this machine with no engine and one version of Landlock.
func (l *landlocked) alone(t *testing.T, version int) sandbox.Allow {
	t.Helper()
	on := sandbox.NewHost(sandbox.HostOptions{Environ: l.environ, Self: enginetest.Self(t), Engines: []sandbox.Engine{}})
	return sandbox.Allow{On: sandbox.AsOldAs(on, version), Confine: sandbox.ConfineAuto, Host: l.environ, Target: filepath.Join(l.dir, "target")}
}

// run makes an attempt and returns its output.
func (l *landlocked) run(t *testing.T, a sandbox.Allow, args []string) (string, error) {
	t.Helper()
	var out, stderr bytes.Buffer
	err := grant(t, a, sandbox.Request{HostExec: true}).Run(t.Context(),
		sandbox.Cmd{Path: l.program, Args: args, Dir: a.Target}, sandbox.Streams{Stdout: &out, Stderr: &stderr})
	return stderr.String() + out.String(), err
}

// TestLandlockAlone checks that a program cannot leave the sandbox without an engine, in every
// version of Landlock up to the kernel's. It leaves out what that cannot prevent: other processes
// and the machine's /proc are visible, and some limits do not apply.
func TestLandlockAlone(t *testing.T) { //nolint:tparallel // the controls come after all of them
	t.Parallel()
	newest := sandbox.LandlockVersion()
	if newest == 0 {
		enginetest.Missing(t, "this kernel has no Landlock")
	}
	l := newLandlocked(t)
	for version := 1; version <= newest; version++ {
		t.Run("version-"+strconv.Itoa(version), func(t *testing.T) {
			l.refused(t, l.alone(t, version))
			if os.Geteuid() != 0 {
				return
			}
			same := l.alone(t, version) // for what the kernel refuses in any case
			same.AsCurrentUser = true
			l.refused(t, same)
		})
	}
	if os.Geteuid() == 0 { // others cannot do what only root may
		l.free(t)
	}
}

// refused makes all attempts, which must fail.
func (l *landlocked) refused(t *testing.T, a sandbox.Allow) {
	for name, args := range l.attempts() {
		said, err := l.run(t, a, args[0])
		if code, _ := sandbox.ExitCode(err); code != 1 || !strings.Contains(said, "refused: ") {
			t.Errorf("%s was not refused: %v: %s", name, err, said)
		}
	}
}

// free makes all attempts without a sandbox, which must succeed.
func (l *landlocked) free(t *testing.T) {
	a := l.alone(t, 0)
	a.Confine = sandbox.ConfineOff
	attempts := l.attempts()
	for name, args := range attempts {
		free := args[1]
		if free == nil {
			free = args[0]
		}
		if slices.Contains([]string{"kill", "owner", "environ", "change", "write-outside", "remove"}, name) {
			continue // they change what others need; escape_test.go has a control for each
		}
		said, err := l.run(t, a, free)
		if name == "flags" && strings.Contains(said, "inappropriate ioctl") {
			continue // not on this file system
		}
		if err != nil {
			t.Errorf("%s is refused without Landlock: %v: %s", name, err, said)
		}
	}
	if said, err := l.run(t, a, attempts["owner"][0]); err != nil {
		t.Errorf("owner is refused without Landlock: %v: %s", err, said)
	}
}

// TestLandlockForeignTemp checks that a directory for temporary files is refused in which another
// user could replace the function's.
func TestLandlockForeignTemp(t *testing.T) {
	self := enginetest.Self(t) // built once for all tests: it must not be in this test's directory
	t.Setenv("TMPDIR", openToAll(t))
	on := sandbox.NewHost(sandbox.HostOptions{Environ: os.Environ(), Self: self, Engines: []sandbox.Engine{}})
	a := sandbox.Allow{On: on, Confine: sandbox.ConfineAuto, Host: os.Environ()}
	g := grant(t, a, sandbox.Request{HostExec: true})
	if c, err := g.Confinement(t.Context()); err != nil || c.Engine != sandbox.Landlocked {
		enginetest.Missing(t, "nothing is confined by Landlock alone: %+v, %v", c, err)
	}
	err := g.Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", "exit 0"}, Dir: "/"}, sandbox.Streams{})
	if !errors.As(err, new(*scratch.Error)) {
		t.Errorf("it ran: %v", err)
	}
}

// TestNoLandlock checks that without Landlock a program runs unconfined, with a warning, or not at
// all.
func TestNoLandlock(t *testing.T) {
	t.Parallel()
	on := sandbox.AsOldAs(sandbox.NewHost(sandbox.HostOptions{Environ: os.Environ(), Self: enginetest.Self(t), Engines: []sandbox.Engine{}}), 0)
	a := sandbox.Allow{On: on, Confine: sandbox.ConfineAuto, Host: os.Environ()}
	g := grant(t, a, sandbox.Request{HostExec: true})
	if c, err := g.Confinement(t.Context()); err != nil || !c.Asked || c.Engine != "" {
		t.Errorf("got %+v, %v", c, err)
	}
	if err := g.Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", "exit 3"}, Dir: "/"}, sandbox.Streams{}); err == nil {
		t.Error("it did not run")
	} else if code, ran := sandbox.ExitCode(err); !ran || code != 3 {
		t.Errorf("got %v", err)
	}
	a.Confine = sandbox.ConfineRequire
	if err := grant(t, a, sandbox.Request{HostExec: true}).Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Dir: "/"}, sandbox.Streams{}); !errors.As(err, new(*sandbox.UnconfinedError)) {
		t.Errorf("required: got %v", err)
	}
}

// services listen wherever a function might find them.
func services(t *testing.T, dir string) (tcp, udp string) {
	t.Helper()
	listen := func(network, address string) string {
		l, err := new(net.ListenConfig).Listen(t.Context(), network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l.Addr().String() // the kernel completes a connection that is not accepted
	}
	path := filepath.Join(dir, "target", "sock")
	listen("unix", path)
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	listen("unix", "@krmcat-"+filepath.Base(dir))
	datagrams := filepath.Join(dir, "target", "datagrams")
	d, err := new(net.ListenConfig).ListenPacket(t.Context(), "unixgram", datagrams)
	if err == nil {
		t.Cleanup(func() { _ = d.Close() })
		err = os.Chmod(datagrams, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() { // so that senders do not block
		for buf := make([]byte, 64); ; {
			if _, _, err := d.ReadFrom(buf); err != nil {
				return
			}
		}
	}()
	pipe := filepath.Join(dir, "target", "pipe")
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	_ = os.Chmod(pipe, 0o666)
	f, err := os.OpenFile(pipe, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	p, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	go func() {
		b := make([]byte, 16)
		for {
			n, from, err := p.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = p.WriteTo(b[:n], from)
		}
	}()
	return listen("tcp", "127.0.0.1:0"), p.LocalAddr().String()
}
