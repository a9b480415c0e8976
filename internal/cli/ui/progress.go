package ui

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress shows on stderr what is done: on a terminal in one line that is overwritten, if verbose
// in lines that stay, otherwise not at all. Its methods are safe for concurrent use.
type Progress struct {
	w    io.Writer
	mode Mode

	mu      sync.Mutex
	shown   bool
	tracked *tracked // the transfer that uses the line, nil for none
}

// tracked is one call of Track.
type tracked struct {
	Transfer
	text func(moved int64) string
}

// Mode decides how much a Progress writes.
type Mode struct {
	Terminal bool // it is a terminal
	Verbose  bool
	Quiet    bool // warnings only
	Coloured bool // the terminal has colours
}

// columns limits a line, so that it does not wrap on a narrow terminal.
const columns = 78

// NewProgress returns a Progress that writes to w.
func NewProgress(w io.Writer, m Mode) *Progress { return &Progress{w: w, mode: m} }

// Say shows the current activity.
func (p *Progress) Say(text string) {
	if p.mode.Quiet || !p.mode.Terminal && !p.mode.Verbose {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode.Verbose {
		_, _ = fmt.Fprintln(p.w, Held(CleanText(text)))
		return
	}
	if p.tracked == nil {
		p.line(text)
	}
}

// line overwrites the line.
func (p *Progress) line(text string) {
	text = Held(CleanText(text))
	if line := []rune(text); len(line) > columns {
		text = string(line[:columns-1]) + "…"
	}
	p.shown = true
	_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s", text)
}

// Note writes a line that stays, unless quiet.
func (p *Progress) Note(text string) {
	if p.mode.Quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	_, _ = fmt.Fprintln(p.w, Held(CleanText(text)))
}

// Transfer is a transfer that Track shows.
type Transfer interface {
	Moved() int64 // bytes so far
	Done() bool
}

const (
	shownAfter = time.Second // a transfer that takes less is not shown
	shownEvery = time.Second / 5
)

// Track shows the progress of a transfer on a terminal, after a second. text returns the line for a
// number of bytes. Of several transfers it shows one.
func (p *Progress) Track(t Transfer, text func(moved int64) string) {
	if p.mode.Quiet || !p.mode.Terminal || p.mode.Verbose {
		return
	}
	time.AfterFunc(shownAfter, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.tracked == nil && !t.Done() {
			p.tracked = &tracked{t, text}
			p.draw(p.tracked)
		}
	})
}

// draw shows a transfer repeatedly until it is done, or has lost the line.
func (p *Progress) draw(t *tracked) {
	switch {
	case p.tracked != t:
		return // the line is another's, or nobody's
	case t.Done():
		p.end()
		return
	}
	p.line(t.text(t.Moved()))
	time.AfterFunc(shownEvery, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.draw(t)
	})
}

// end clears the line, and takes it from a transfer.
func (p *Progress) end() {
	p.clear()
	p.tracked = nil
}

// Warn writes a warning.
func (p *Progress) Warn(text string) { p.stay("Warning", text) }

// Audit writes a line about what a policy in audit mode would refuse.
func (p *Progress) Audit(text string) { p.stay("Audit", text) }

func (p *Progress) stay(kind, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	label := kind + ":"
	if p.mode.Coloured {
		label = Doubtful.Of(label)
	}
	_, _ = fmt.Fprintf(p.w, "%s %s\n", label, Held(CleanText(text)))
}

// Done clears the line. A nil Progress is valid.
func (p *Progress) Done() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
}

func (p *Progress) clear() {
	if p.shown {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
	}
	p.shown = false
}
