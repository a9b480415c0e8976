package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// gate is a writer that blocks until it is opened.
type gate struct {
	got  bytes.Buffer
	open chan struct{}
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	return g.got.Write(b)
}

// TestSlowReader checks that no process counts as left behind because krmcat reads slowly: at each
// check there is something to read, or no process holds the stream.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"little": "x", "as much as fits into a pipe": strings.Repeat("x", 1<<16)} {
		from, theirs, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		slow := &gate{open: make(chan struct{})}
		o := &out{from: from, done: make(chan struct{})}
		p := &pipes{outs: []*out{o}}
		if _, err := io.WriteString(theirs, text); err != nil {
			t.Fatal(err)
		}
		p.copies.Go(func() { o.copy(slow) })
		if !onWindows && len(text) > 1<<15 && p.held() {
			t.Errorf("%s: held, with more to read", name)
		}
		_ = theirs.Close()
		for range 100 {
			if !onWindows && p.held() {
				t.Fatalf("%s: held by nobody", name)
			}
		}
		close(slow.open)
		if err := p.finish(t.Context(), 1); err != nil || slow.got.String() != text {
			t.Errorf("%s: got %d bytes, %v", name, slow.got.Len(), err)
		}
	}
}

const onWindows = os.PathSeparator == '\\'

// TestHeld checks that a process that holds a stream is noticed, and waited for no longer than
// allowed.
func TestHeld(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]bool{"patience": false, "ctx ended": true} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		cmd := &exec.Cmd{Stdout: io.Discard, Stdin: strings.NewReader("x")}
		p, err := connect(cmd)
		if err != nil {
			t.Fatal(err)
		}
		theirs := p.theirs
		p.theirs = nil // they stay open, as if another process held them
		p.started()
		if !p.held() {
			t.Errorf("%s: not held", name)
		}
		patience := 1
		if end {
			patience = 1 << 30
			cancel()
		}
		if err := p.finish(ctx, patience); !errors.Is(err, ErrLeftBehind) {
			t.Errorf("%s: got %v", name, err)
		}
		for _, f := range theirs {
			_ = f.Close()
		}
	}
}

// told sends each text that is written to it.
type told chan string

func (c told) Write(b []byte) (int, error) {
	c <- string(b)
	return len(b), nil
}

// TestStillWriting checks that a process that writes now and then does not count as one that was
// left behind, whichever of its streams it writes to.
func TestStillWriting(t *testing.T) {
	t.Parallel()
	got := make(told)
	cmd := &exec.Cmd{Stdout: got, Stderr: got}
	p, err := connect(cmd)
	if err != nil {
		t.Fatal(err)
	}
	theirs := p.theirs
	p.theirs = nil // they stay open, as if another process held them
	p.started()
	for i, f := range theirs {
		if _, err := io.WriteString(f, "x"); err != nil || <-got != "x" {
			t.Fatal(err)
		}
		if p.held() {
			t.Errorf("stream %d: held, though something was written", i+1)
		}
		if !p.held() {
			t.Errorf("stream %d: not held, with nothing new", i+1)
		}
	}
	for _, f := range theirs {
		_ = f.Close()
	}
	if err := p.finish(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

// TestBrokenInput checks that an error of reading the input is the error of the call.
func TestBrokenInput(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cmd := &exec.Cmd{Stdin: io.MultiReader(strings.NewReader("x"), failing{broken})}
	p, err := connect(cmd)
	if err != nil {
		t.Fatal(err)
	}
	from := p.theirs[0]
	p.theirs = nil
	p.started()
	if data, err := io.ReadAll(from); err != nil || string(data) != "x" {
		t.Errorf("got %q, %v", data, err)
	}
	<-p.fed
	if err := p.finish(t.Context(), 1); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	_ = from.Close()
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
