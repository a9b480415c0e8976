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

// secretText is in everything that a function is not to read. The program of the attempts
// knows it.
const secretText = "hunter2"

// Who runs krmcat where it is not root, and how long one run may take at most.
const (
	escapee = 54322
	dirAll  = 0o777
)

// outside is what surrounds a function that tries to get out: secrets, services and
// processes of a user's, and what it runs in.
type outside struct {
	base    string // nowhere near /tmp, which functions do not see anyway
	temp    string // in /tmp
	program string // that makes the attempts
	krmcat  string
	servers *servers
	test    *testing.T // that ends with it
	victim  string     // a process of the user's, by its id
	marker  string     // a word of its command line
}

// place is a path in it.
func (w *outside) place(name string) string { return filepath.Join(w.base, name) }

// newOutside makes one. Everybody may read and write all of it: what keeps a function from it
// is its sandbox alone.
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
	// krmcat takes no image from a cache that others can write to.
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

// file writes a file that is everybody's, in directories that are, and belongs to the user
// who is not root.
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

// privileged are programs that give rights to whoever runs them.
func (w *outside) privileged(t *testing.T) {
	for name, prepare := range map[string]func(string) error{
		"setuid": func(p string) error { return os.Chmod(p, 0o755|os.ModeSetuid) },
		// cap_sys_admin, cap_dac_override and some more, effective: see capabilities(7).
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

// startVictim starts a process that has nothing to do with krmcat.
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

// lives tells whether the victim does.
func (w *outside) lives() bool {
	data, err := os.ReadFile("/proc/" + w.victim + "/cmdline")
	return err == nil && bytes.Contains(data, []byte(w.marker))
}

// servers are services of the user's, and how often somebody reached one.
type servers struct {
	tcp, udp []string // addresses, of both versions where the machine has both
	unix     []string // paths, and a name that is in no file system
	hits     atomic.Int64
	context  context.Context
}

// serve4 starts services wherever a function might look for them.
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

// listen serves one more socket.
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

// datagrams serves a socket that is sent to.
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

// discard reads all that is sent, or senders would wait.
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

// openPipe makes a named pipe that somebody reads from.
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

// openTerminal is the slave of a terminal that nobody looks at.
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

// lingering lists the processes of this machine that a function left behind, by a word of
// theirs.
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
