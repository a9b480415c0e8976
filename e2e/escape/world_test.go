//go:build linux

package escape

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/krmcat/krmcat/internal/filetest"
)

// secretText is the content of everything that a function must not read. The program that makes the
// attempts looks for it.
const secretText = "hunter2"

// The user who runs krmcat where that is not root, and the mode of directories that everybody may
// write to.
const (
	escapee = 54322
	dirAll  = 0o777
)

// outside is the surroundings of a function that tries to get out: secrets, services and processes
// of a user, and the programs of the test.
type outside struct {
	base    string // outside /tmp, which functions do not see
	temp    string // in /tmp
	program string // makes the attempts
	krmcat  string
	servers *servers
	test    *testing.T // the surroundings end with this test
	victim  string     // the id of a process of the user
	marker  string     // a word of the victim's command line
}

// place returns a path below base.
func (w *outside) place(name string) string { return filepath.Join(w.base, name) }

// newOutside makes the surroundings. Everybody may read and write all files, so that only the
// sandbox keeps a function from them.
func newOutside(t *testing.T) *outside {
	w := &outside{test: t, base: filetest.OpenDir(t, "/srv"), temp: filetest.OpenDir(t, os.TempDir())}
	for name, text := range map[string]string{
		"home/.docker/config.json": `{"auths":{"registry.example":{"auth":"aHVudGVyMjpodW50ZXIy"}},"note":"` + secretText + `"}`,
		"home/.ssh/id_ed25519":     secretText,
		"home/.netrc":              secretText,
		"home/projects/notes":      secretText,
		"docker/config.json":       `{"auths":{},"note":"` + secretText + `"}`,
		"kube/config":              secretText,
		"cache-0/secret":           secretText,
		"cache-54322/secret":       secretText,
		"bin/nothing":              "",
		"control/file":             secretText,
	} {
		w.file(t, w.place(name), text)
	}
	w.file(t, filepath.Join(w.temp, "other-project", "secret"), secretText)
	// krmcat uses no image from a cache that others can write to.
	for dir, uid := range map[string]int{"cache-0": os.Geteuid(), "cache-54322": escapee} {
		if os.Geteuid() != 0 {
			uid = os.Geteuid()
		}
		if err := errors.Join(os.Chown(w.place(dir), uid, -1), os.Chmod(w.place(dir), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	w.program = w.place("bin/escape")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", w.program, "../../testdata/functions/escape")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the function: %v: %s", err, out)
	}
	w.krmcat = w.place("bin/krmcat")
	self, err := os.Executable()
	if err == nil {
		err = copyFile(self, w.krmcat)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.servers = serve4(t, w)
	w.startVictim(t)
	if os.Geteuid() == 0 {
		w.privileged(t)
	}
	return w
}

// file writes a file that everybody may read and write, in directories of the same kind. It belongs
// to the user who is not root.
func (w *outside) file(t testing.TB, path, text string) {
	t.Helper()
	dir := filepath.Dir(path)
	for _, err := range []error{os.MkdirAll(dir, dirAll), os.WriteFile(path, []byte(text), 0o666), os.Chmod(path, 0o666)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for ; dir != w.base && dir != w.temp && len(dir) > len("/tmp"); dir = filepath.Dir(dir) {
		_ = os.Chmod(dir, dirAll)
		w.own(dir)
	}
	w.own(path)
}

func (w *outside) own(path string) {
	if os.Geteuid() == 0 {
		_ = os.Chown(path, escapee, escapee)
	}
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return filetest.WriteProgram(to, data)
}

// privileged writes programs that raise the rights of the user who runs them.
func (w *outside) privileged(t *testing.T) {
	for name, prepare := range map[string]func(string) error{
		"setuid": func(p string) error { return os.Chmod(p, 0o755|os.ModeSetuid) },
		// The effective capabilities include cap_sys_admin and cap_dac_override: see
		// capabilities(7).
		"capable": func(p string) error {
			return unix.Setxattr(p, "security.capability", []byte{1, 0, 0, 2, 0xff, 0xff, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0)
		},
	} {
		p := w.place("bin/" + name)
		if err := errors.Join(copyFile(w.program, p), prepare(p)); err != nil {
			t.Fatal(err)
		}
	}
}

// startVictim starts a process that is unrelated to krmcat.
func (w *outside) startVictim(t *testing.T) {
	w.marker = "victim-of-" + filepath.Base(w.base)
	cmd := exec.CommandContext(t.Context(), w.program, "as-victim", w.marker)
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	w.victim = strconv.Itoa(cmd.Process.Pid)
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// lives reports whether the victim still runs.
func (w *outside) lives() bool {
	data, err := os.ReadFile("/proc/" + w.victim + "/cmdline")
	return err == nil && bytes.Contains(data, []byte(w.marker))
}

// servers are services of the user. They count how often one was reached.
type servers struct {
	tcp, udp []string // addresses, for IPv4 and IPv6 if the machine has both
	unix     []string // paths, and an abstract socket, which is in no file system
	hits     atomic.Int64
	context  context.Context
}

// serve4 starts services in all places where a function might look for them.
func serve4(t *testing.T, w *outside) *servers {
	s := &servers{context: t.Context()}
	for _, host := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", host)
		if err != nil {
			t.Logf("NOT TESTED: %v", err)
			continue
		}
		s.accept(t, l)
		s.tcp = append(s.tcp, l.Addr().String())
		p, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		s.udp = append(s.udp, p.LocalAddr().String())
		go s.echo(p)
	}
	for _, path := range []string{
		w.place("home/agent.sock"), w.place("home/run.sock"), filepath.Join(w.temp, "service.sock"),
		"@krmcat-escape-" + filepath.Base(w.base),
	} {
		s.unix = append(s.unix, path)
		s.listen(t, path)
	}
	return s
}

// listen serves another socket.
func (s *servers) listen(t testing.TB, path string) {
	l, err := new(net.ListenConfig).Listen(s.context, "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if path[0] != '@' {
		if err := os.Chmod(path, dirAll); err != nil {
			t.Fatal(err)
		}
	}
	s.accept(t, l)
}

// datagrams serves a datagram socket.
func (s *servers) datagrams(t testing.TB, path string) {
	p, err := new(net.ListenConfig).ListenPacket(s.context, "unixgram", path)
	if err == nil {
		t.Cleanup(func() { _ = p.Close() })
		err = os.Chmod(path, dirAll)
	}
	if err != nil {
		t.Fatal(err)
	}
	go discard(p)
}

// discard reads all that arrives, so that senders do not block.
func discard(p net.PacketConn) {
	for buf := make([]byte, 64); ; {
		if _, _, err := p.ReadFrom(buf); err != nil {
			return
		}
	}
}

func (s *servers) accept(t testing.TB, l net.Listener) {
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.hits.Add(1)
			_ = c.Close()
		}
	}()
}

func (s *servers) echo(p net.PacketConn) {
	b := make([]byte, 16)
	for {
		n, from, err := p.ReadFrom(b)
		if err != nil {
			return
		}
		s.hits.Add(1)
		_, _ = p.WriteTo(b[:n], from)
	}
}

// openPipe makes a named pipe with an open reader.
func openPipe(t testing.TB, path string) {
	if err := errors.Join(syscall.Mkfifo(path, 0o666), os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
}

// openTerminal returns the slave of a terminal whose master nobody reads.
func openTerminal(t testing.TB) *os.File {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	return slave
}

// lingering lists the processes of this machine that a function left running. It finds them by a
// word of their command line.
func lingering(word string) []int {
	var out []int
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range all {
		data, err := os.ReadFile(p)
		if err != nil || !bytes.Contains(data, []byte("\x00as-lingerer\x00")) || !bytes.Contains(data, []byte(word)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(p))); err == nil {
			out = append(out, pid)
		}
	}
	return out
}
