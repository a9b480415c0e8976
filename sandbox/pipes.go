package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// pipes connect a process to streams that are not files. Package exec's own pipes do not do:
// it waits a fixed time for whoever holds one after the process has ended. On a busy machine
// that time is over before all output is read, which looks like a process left behind.
type pipes struct {
	theirs []*os.File // the process's ends, until it is started
	in     *os.File   // our end of stdin; nil for none
	outs   []*out
	start  []func()       // called after the process has started
	copies sync.WaitGroup // of outs
	fed    chan struct{}  // closed after stdin is closed
	inErr  error          // of reading the source of stdin; valid after fed
}

// out is an output stream of a process.
type out struct {
	from *os.File
	read atomic.Int64 // bytes read so far
	seen int64        // the same at the last check
	err  error        // of copying; valid after done
	done chan struct{}
}

// Read reads the stream and counts.
func (o *out) Read(b []byte) (int, error) {
	n, err := o.from.Read(b)
	o.read.Add(int64(n))
	return n, err
}

// connect replaces the streams of a command by pipes, as package exec would.
func connect(cmd *exec.Cmd) (_ *pipes, err error) {
	p := &pipes{}
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

// feed writes stdin. A process may read less than that.
func (p *pipes) feed(from io.Reader) {
	defer close(p.fed)
	_, err := io.Copy(p.in, reader{from, &p.inErr})
	_, _ = err, p.in.Close()
}

// reader records the errors of reading, apart from those of writing.
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
	_, err := io.Copy(to, o)
	if !errors.Is(err, os.ErrClosed) {
		o.err = err
	}
	_ = o.from.Close() // a process that still writes gets SIGPIPE
}

// started closes the process's ends and starts copying.
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

// close closes all ends.
func (p *pipes) close() {
	p.release()
	if p.in != nil {
		_ = p.in.Close()
	}
	for _, o := range p.outs {
		_ = o.from.Close()
	}
}

// finish reads the rest of the output of a process that has ended. It returns an error of
// copying, or ErrLeftBehind if another process holds a stream open without writing for
// patience times waitDelay. If ctx has ended, it takes at most waitDelay.
func (p *pipes) finish(ctx context.Context, patience int) error {
	if p.in != nil {
		_ = p.in.Close()
	}
	for _, o := range p.outs {
		o.seen = o.read.Load()
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

// held reports whether a process holds an output open, all that was written is read, and nothing
// was written to any output since the last check.
func (p *pipes) held() bool {
	held, written := false, false
	for _, o := range p.outs {
		n := o.read.Load()
		written = written || n != o.seen
		o.seen = n
		select {
		case <-o.done:
		default:
			held = held || idle(o.from)
		}
	}
	return held && !written
}

func (p *pipes) err() error {
	if p.in != nil {
		select {
		case <-p.fed:
			if p.inErr != nil {
				return p.inErr
			}
		default: // reading the source hangs, and nothing needs it any more
		}
	}
	for _, o := range p.outs {
		if o.err != nil {
			return o.err
		}
	}
	return nil
}
