package ui

import (
	"fmt"
	"io"
	"sync"
)

// Progress shows what is being done: on a terminal a line that is written over, with
// verbose lines that stay, else nothing. Its methods may be called from several goroutines.
type Progress struct {
	w                 io.Writer
	terminal, verbose bool

	mu    sync.Mutex
	shown bool
}

// columns is how much of a line is shown, so that it does not wrap on a narrow terminal.
const columns = 78

// NewProgress shows progress on w.
func NewProgress(w io.Writer, terminal, verbose bool) *Progress {
	return &Progress{w: w, terminal: terminal, verbose: verbose}
}

// Say shows what is being done now.
func (p *Progress) Say(text string) {
	if !p.terminal && !p.verbose {
		return
	}
	text = Held(CleanText(text))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.verbose {
		_, _ = fmt.Fprintln(p.w, text)
		return
	}
	if line := []rune(text); len(line) > columns {
		text = string(line[:columns-1]) + "…"
	}
	p.shown = true
	_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s", text)
}

// Warn shows a line that stays.
func (p *Progress) Warn(text string) { p.stay("Warning", text) }

// Audit shows a line that stays: what would be refused if it counted.
func (p *Progress) Audit(text string) { p.stay("Audit", text) }

func (p *Progress) stay(kind, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	_, _ = fmt.Fprintf(p.w, "%s: %s\n", kind, Held(CleanText(text)))
}

// Done takes the line away.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *Progress) clear() {
	if p.shown {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
	}
	p.shown = false
}
