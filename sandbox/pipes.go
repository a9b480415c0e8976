package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// pipes are those of a process's streams that are no files, as we hold them. They are ours
// and not package exec's, which gives whoever still holds one when the process has ended a
// fixed time: on a busy machine that is over before all was read that had been written, and
// looks as if somebody had been left behind.
type pipes struct {
	theirs []*os.File // the process's ends, until it is started
	in     *os.File   // what feeds it, nil for none
	outs   []*out
	start  []func()       // what is done once the process is there
	copies sync.WaitGroup // of outs
	fed    chan struct{}  // closed when nothing more is fed
	inErr  error          // of reading what it is fed; after fed
}

// out is one stream from a process.
type out struct {
	from *os.File
	err  error // of copying; after that has ended
	done chan struct{}
}

// connect puts pipes in the place of a command's streams, as package exec would.
func connect(cmd *exec.Cmd) (p *pipes, err error) {
	p = &pipes{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if _, file := cmd.Stdin.(*os.File); cmd.Stdin != nil && !file {
		theirs, ours, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		p.theirs, p.in, p.fed = append(p.theirs, theirs), ours, make(chan struct{})
		from := cmd.Stdin
		cmd.Stdin = theirs
		p.start = append(p.start, func() { go p.feed(from) })
	}
	for _, to := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		if _, file := (*to).(*os.File); *to == nil || file {
			continue
		}
		ours, theirs, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		o := &out{from: ours, done: make(chan struct{})}
		p.theirs, p.outs = append(p.theirs, theirs), append(p.outs, o)
		w := *to
		*to = theirs
		p.start = append(p.start, func() { p.copies.Go(func() { o.copy(w) }) })
	}
	return p, nil
}

// feed hands on what a process reads. That it reads less is its own affair.
func (p *pipes) feed(from io.Reader) {
	defer close(p.fed)
	_, err := io.Copy(p.in, reader{from, &p.inErr})
	_, _ = err, p.in.Close()
}

// reader keeps the error of reading apart from that of writing.
type reader struct {
	io.Reader
	err *error
}

func (r reader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		*r.err = err
	}
	return n, err
}

func (o *out) copy(to io.Writer) {
	defer close(o.done)
	_, err := io.Copy(to, o.from)
	if !errors.Is(err, os.ErrClosed) {
		o.err = err
	}
	_ = o.from.Close() // who writes on is told by that
}

// started gives up the process's ends, and begins to feed it and to read from it.
func (p *pipes) started() {
	p.release()
	for _, f := range p.start {
		f()
	}
}

func (p *pipes) release() {
	for _, f := range p.theirs {
		_ = f.Close()
	}
	p.theirs = nil
}

// close gives everything up.
func (p *pipes) close() {
	p.release()
	if p.in != nil {
		_ = p.in.Close()
	}
	for _, o := range p.outs {
		_ = o.from.Close()
	}
}

// finish reads to the end what a process has written that has ended. It returns
// ErrLeftBehind where somebody else holds a stream open and writes nothing, for as many times
// waitDelay as there is patience, or what went wrong in copying. When ctx has ended nobody
// waits for more than waitDelay.
func (p *pipes) finish(ctx context.Context, patience int) error {
	if p.in != nil {
		_ = p.in.Close()
	}
	copied := make(chan struct{})
	go func() { p.copies.Wait(); close(copied) }()
	tick := time.NewTicker(waitDelay)
	defer tick.Stop()
	for {
		select {
		case <-copied:
			return p.err()
		case <-tick.C:
		}
		if p.held() {
			patience--
		}
		if patience <= 0 || ctx.Err() != nil {
			p.close()
			<-copied
			return ErrLeftBehind
		}
	}
}

// held reports whether somebody holds a stream open and has nothing written to it that was not
// read.
func (p *pipes) held() bool {
	for _, o := range p.outs {
		select {
		case <-o.done:
			continue
		default:
		}
		if idle(o.from) {
			return true
		}
	}
	return false
}

func (p *pipes) err() error {
	if p.in != nil {
		select {
		case <-p.fed:
			if p.inErr != nil {
				return p.inErr
			}
		default: // it hangs in reading what nobody wants any more
		}
	}
	for _, o := range p.outs {
		if o.err != nil {
			return o.err
		}
	}
	return nil
}
