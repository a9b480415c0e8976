package sandbox_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestKilledWithUs checks that a function ends with krmcat, even if krmcat is killed by SIGKILL.
func TestKilledWithUs(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	host := exec.CommandContext(t.Context(), os.Args[0], asFunction, "run="+l.Addr().String())
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept() // of the function
	killed := host.Process.Kill()
	_ = host.Wait() // the error is that it was killed
	if err != nil || killed != nil {
		t.Fatal(err, killed)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if _, err := c.Read(make([]byte, 1)); errors.As(err, &timeout) && timeout.Timeout() {
		t.Error("the function is still alive")
	}
}
