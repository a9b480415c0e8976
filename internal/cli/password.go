package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"golang.org/x/term"
)

// readLine reads a line from a terminal, until ctx ends.
func readLine(ctx context.Context, in *os.File) (string, error) {
	line, err := typed(ctx, func() ([]byte, error) { return bufio.NewReader(in).ReadBytes('\n') })
	if len(line) > 0 {
		err = nil // the last line has no line break
	}
	return string(line), err
}

// readPassword reads a line from a terminal without echo. It restores the terminal when
// interrupted.
func readPassword(ctx context.Context, in *os.File) ([]byte, error) {
	fd := int(in.Fd())
	state, err := term.GetState(fd)
	if err != nil {
		return nil, fmt.Errorf("reading the password: %w", err)
	}
	password, err := typed(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	if ctx.Err() != nil {
		_ = term.Restore(fd, state)
	}
	return password, err
}

// typed waits for input, until ctx ends.
func typed(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type answer struct {
		text []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		text, err := read()
		done <- answer{text, err}
	}()
	select {
	case a := <-done:
		if a.err != nil {
			return a.text, fmt.Errorf("reading from the terminal: %w", a.err)
		}
		return a.text, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
