package testmain

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

// Main runs a program until it ends or is interrupted, and exits with 1 where it failed.
func Main(run func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Absolute makes paths absolute, since the programs that they name are run in other directories.
func Absolute(paths ...*string) error {
	for _, p := range paths {
		path, err := filepath.Abs(*p)
		if err != nil {
			return fmt.Errorf("finding %s: %w", *p, err)
		}
		*p = path
	}
	return nil
}

// InDir does something in a new directory, which is removed afterwards. Its name begins with a
// prefix.
func InDir(prefix string, do func(dir string) error) error {
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return fmt.Errorf("making a directory for the run: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return do(dir)
}
