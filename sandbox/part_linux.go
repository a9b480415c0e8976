package sandbox

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// ownFile is the executable of this process, whatever file is at its path now.
const ownFile = "/proc/self/exe"

// part is a process of the same executable as this one, started by another name.
type part struct {
	io.Reader
	io.Writer
	closeIn func() error
	end     chan struct{} // closed to end the process
	once    sync.Once
	ended   chan struct{} // closed after the process has ended
}

// StartPart starts this executable by the name of a part of it, and returns a connection to its
// stdin and stdout. The process has no environment and no other open file. It ends when the
// connection is closed, or this process ends. The error is one of starting it.
func StartPart(name string) (io.ReadWriteCloser, error) {
	in, questions, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answers, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), questions.Close())
	}
	cmd := &exec.Cmd{
		Path: ownFile, Args: []string{name}, Env: []string{}, Dir: "/", Stdin: in, Stdout: out,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	p := &part{Reader: answers, Writer: questions, end: make(chan struct{}), ended: make(chan struct{})}
	p.closeIn = func() error { return errors.Join(questions.Close(), answers.Close()) }
	started := make(chan error)
	go p.run(cmd, started)
	err = <-started
	_, _ = in.Close(), out.Close()
	if err != nil {
		return nil, errors.Join(err, p.closeIn())
	}
	return p, nil
}

// run starts the process and waits for it on one thread, whose end counts as this process's
// for Pdeathsig.
func (p *part) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	started <- err
	if err != nil {
		return
	}
	defer close(p.ended)
	waited := make(chan struct{})
	go func() {
		select {
		case <-p.end:
			_ = cmd.Process.Kill()
		case <-waited:
		}
	}()
	_ = cmd.Wait()
	close(waited)
}

// Close ends the process and waits for that.
func (p *part) Close() error {
	var err error
	p.once.Do(func() {
		close(p.end)
		err = p.closeIn()
	})
	<-p.ended
	return err
}
