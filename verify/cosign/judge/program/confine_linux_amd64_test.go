//go:build !cgo

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// confined is the environment variable that makes the test binary the confined process.
const confined = "KRMCAT_TEST_CONFINED"

// TestConfine checks that the judge can compute but access nothing.
func TestConfine(t *testing.T) {
	if os.Getenv(confined) != "" {
		confine()
		fmt.Println("tried:" + attempts())
		os.Exit(0)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestConfine$")
	cmd.Env = append(os.Environ(), confined+"=1")
	own, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close() })
	cmd.ExtraFiles = []*os.File{own}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "tried:" {
		t.Errorf("%v\n%.2000s", err, out)
	}
}

// inherited is the descriptor of an additional file that the process inherits.
const inherited = 3

func call(number, a, b, c uintptr) error {
	if _, _, e := syscall.Syscall(number, a, b, c); e != 0 {
		return e
	}
	return nil
}

// attempts returns what was possible but must not be, and the reverse.
func attempts() string {
	var said []string
	for what, try := range map[string]func() error{
		"to read a file":      func() error { _, err := os.ReadFile("/etc/passwd"); return err },
		"to write one":        func() error { return os.WriteFile(os.TempDir()+"/x", nil, 0o600) },
		"to remove one":       func() error { return os.Remove("/nowhere") },
		"to start a program":  func() error { return exec.Command("/bin/true").Run() },
		"to become a program": func() error { return syscall.Exec("/bin/true", []string{"true"}, nil) },
		"a socket":            func() error { _, err := net.Dial("tcp", "127.0.0.1:1"); return err },
		"a socket of a path":  func() error { _, err := net.Dial("unix", "/nowhere"); return err },
		"to kill":             func() error { return syscall.Kill(os.Getppid(), 0) },
		"to kill by a thread": func() error { return call(syscall.SYS_TGKILL, 1, 1, 0) },
		"to have one killed":  func() error { return call(syscall.SYS_FCNTL, 0, syscall.F_SETOWN, 1) },
		"a file of memory":    func() error { return call(319, 0, 0, 0) },
	} {
		if err := try(); !errors.Is(err, syscall.EPERM) {
			said = append(said, fmt.Sprintf("%s: %v", what, err))
		}
	}
	if err := call(syscall.SYS_READ, inherited, 0, 0); !errors.Is(err, syscall.EBADF) {
		said = append(said, fmt.Sprintf("what it inherited: %v", err))
	}
	if err := call(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(os.Getpid()), 0); err != nil {
		said = append(said, fmt.Sprintf("a signal to itself: %v", err))
	}
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			runtime.LockOSThread() // a thread of its own, that ends
			_, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil || len(make([]byte, 1<<20)) == 0 {
				panic(err)
			}
		})
	}
	all.Wait()
	runtime.GC()
	return strings.Join(said, "\n")
}
