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

// ownFile is the file that this process was started from, whatever stands at its path by now.
const ownFile = "/proc/self/exe"

// part is a process of the same file as this one, under another name.
type part struct {
	io.Reader
	io.Writer
	closeIn func() error
	end     chan struct{} // closed where it should be ended
	once    sync.Once
	ended   chan struct{} // closed when it was waited for
}

// StartPart starts this program once more, by the name of a part of it, and connects to its stdin
// and stdout. It gets no environment and no other file. Closing the connection ends it, and so
// does the end of this process.
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

// run starts the process and waits for it, on one thread: the kernel counts its end as ours.
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

// Close implements io.Closer.
func (p *part) Close() error {
	var err error
	p.once.Do(func() {
		close(p.end)
		err = p.closeIn()
	})
	<-p.ended
	return err
}
