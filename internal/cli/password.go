package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"golang.org/x/term"
)

// readLine reads a line from a terminal, or until ctx ends.
func readLine(ctx context.Context, in *os.File) (string, error) {
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		text, err := bufio.NewReader(in).ReadString('\n')
		done <- answer{text, err}
	}()
	select {
	case a := <-done:
		if a.err != nil && a.text == "" {
			return "", fmt.Errorf("reading the answer: %w", a.err)
		}
		return a.text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// readPassword reads a line from a terminal without showing it. An interrupt leaves the
// terminal as it was.
func readPassword(ctx context.Context, in *os.File) ([]byte, error) {
	fd := int(in.Fd())
	state, err := term.GetState(fd)
	if err != nil {
		return nil, fmt.Errorf("reading the password: %w", err)
	}
	type answer struct {
		text []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		done <- answer{text, err}
	}()
	select {
	case a := <-done:
		if a.err != nil {
			return nil, fmt.Errorf("reading the password: %w", a.err)
		}
		return a.text, nil
	case <-ctx.Done():
		_ = term.Restore(fd, state)
		return nil, context.Cause(ctx)
	}
}
