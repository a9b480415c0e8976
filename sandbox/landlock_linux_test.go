package sandbox_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/sandbox"
)

// landlockScopes is the version of Landlock since which signals and sockets without a name
// stay inside.
const landlockScopes = 6

// escaper is a program that tries to get out: testdata/functions/escape.
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

// openToAll makes a directory that everybody may write to, not below /tmp where it can be.
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

// attempts are what Landlock and the filter of calls hold by themselves, and what
// each is tried with where nothing confines it, nil for the same.
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
		"kill":      {{"kill", l.victim}}, // the last, where it is not held
	}
}

// landlocked is a program that tries to get out, and what it tries to reach.
type landlocked struct {
	dir, program, victim, tcp, udp string
	environ                        []string
	on                             *sandbox.Host
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
	l.environ = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "SECRET=hunter2")
	l.on = sandbox.NewHost(sandbox.HostOptions{Environ: l.environ, Self: enginetest.Self(t), Ways: []sandbox.Way{}})
	return l
}

// run makes an attempt, and returns what it said.
func (l *landlocked) run(t *testing.T, c sandbox.Confine, args []string) (string, error) {
	t.Helper()
	a := sandbox.Allow{On: l.on, Confine: c, Host: l.environ, Target: filepath.Join(l.dir, "target")}
	var out, notes bytes.Buffer
	err := grant(t, a, sandbox.Request{HostExec: true}).Run(t.Context(),
		sandbox.Cmd{Path: l.program, Args: args, Dir: a.Target}, sandbox.Streams{Out: &out, Notes: &notes})
	return notes.String() + out.String(), err
}

// TestLandlockAlone has a program try to get out where no way of confining is there, and
// Landlock has to do. What that cannot hold (processes are seen, /proc is this machine's,
// what is used up) is not tried.
func TestLandlockAlone(t *testing.T) { //nolint:tparallel // the controls come after all of them
	t.Parallel()
	version, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1)
	if e != 0 {
		enginetest.Missing(t, "Landlock: %v", e)
	}
	l := newLandlocked(t)
	attempts := l.attempts()
	for name, a := range attempts {
		t.Run(name, func(t *testing.T) {
			if name == "kill" && version < landlockScopes {
				t.Skipf("NOT HELD: signals, by version %d of Landlock", version)
			}
			said, err := l.run(t, sandbox.ConfineAuto, a[0])
			if code, _ := sandbox.ExitCode(err); code != 1 || !strings.Contains(said, "refused: ") {
				t.Errorf("it was not refused: %v: %s", err, said)
			}
		})
	}
	if os.Geteuid() != 0 {
		return // what is for root is refused anyway
	}
	for name, a := range attempts {
		free := a[1]
		if free == nil {
			free = a[0]
		}
		if name == "kill" || name == "environ" || name == "change" || name == "write-outside" || name == "remove" {
			continue // each of these changes what others need, and escape_test.go has a control for it
		}
		if said, err := l.run(t, sandbox.ConfineOff, free); err != nil {
			t.Errorf("%s is refused without Landlock: %v: %s", name, err, said)
		}
	}
}

// services listen wherever a function might look for them.
func services(t *testing.T, dir string) (tcp, udp string) {
	t.Helper()
	listen := func(network, address string) string {
		l, err := new(net.ListenConfig).Listen(t.Context(), network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l.Addr().String() // a connection is made by the kernel, accepted or not
	}
	path := filepath.Join(dir, "target", "sock")
	listen("unix", path)
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	listen("unix", "@krmcat-"+filepath.Base(dir))
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
