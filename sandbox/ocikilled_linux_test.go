package sandbox

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ociVictim says, in the environment, that a process is to run a job and be killed.
const ociVictim = "KRMCAT_TEST_OCI_VICTIM"

// ociKilled has a job end with the process that runs it, however that ends, and what is
// left behind removed by a later one.
func ociKilled(b ociBench) {
	if temp := os.Getenv(ociVictim); temp != "" {
		b.victim(temp)
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestOCI$/^"+string(b.way)+"$/^killed$")
	cmd.Env = append(os.Environ(), ociVictim+"="+b.temp, "TMPDIR="+b.TempDir())
	cmd.Stdout = theirs
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	_ = theirs.Close()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		b.Error(err)
	}
	ended := ends(b.T, cmd.Process.Pid)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	ended()
	done := make(chan error, 1)
	go func() { _, err := io.Copy(io.Discard, out); done <- err }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		b.Error("something holds stdout open")
	}
	left, _ := filepath.Glob(filepath.Join(b.temp, bundlePrefix+"*"))
	if len(left) != 1 {
		b.Fatalf("left behind: %s", left)
	}
	long := time.Now().Add(-2 * staleAfter)
	if err := os.Chtimes(left[0], long, long); err != nil {
		b.Fatal(err)
	}
	b.made.ids = append(b.made.ids, filepath.Base(left[0]))
	sweep(b.temp) // clean looks at what it did
}

// ends waits for the end of a process and of all below it.
func ends(t *testing.T, pid int) (wait func()) {
	t.Helper()
	var all []int
	for _, p := range descendants(t, pid) {
		if fd, err := unix.PidfdOpen(p, 0); err == nil {
			all = append(all, fd)
		}
	}
	return func() {
		t.Helper()
		for _, fd := range all {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			for {
				n, err := unix.Poll(poll, 10_000)
				if errors.Is(err, unix.EINTR) {
					continue
				}
				if n != 1 || err != nil {
					t.Errorf("%d of %d processes have ended, and %v", n, len(all), err)
				}
				break
			}
			_ = unix.Close(fd)
		}
	}
}

// victim runs a job that does not end.
func (b ociBench) victim(temp string) {
	b.made.engine.(*ociEngine).temp = temp
	p, err := b.engine.prepare(b.Context(), b.ociJob("busybox setsid sleep 1000 & echo; sleep 1000"))
	if err != nil {
		b.Fatal(err)
	}
	p.cmd.Stdout = os.Stdout
	_, err = startAndWait(p.cmd)
	b.Fatal(err)
}

// TestSubmounts reads what the kernel lists.
func TestSubmounts(t *testing.T) {
	t.Parallel()
	below, err := submounts("/")
	if err != nil || len(below) == 0 {
		t.Errorf("%q, %v", below, err)
	}
	below, err = submounts(t.TempDir())
	if err != nil || len(below) != 0 {
		t.Errorf("%q, %v", below, err)
	}
}
