package testmain

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

// Main runs a program until it ends or is interrupted. If the program fails, the exit code is 1.
func Main(run func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Absolute makes the paths of programs absolute, because the programs run in other directories.
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

// InDir calls do with a new directory, and removes the directory afterwards. The prefix begins its
// name.
func InDir(prefix string, do func(dir string) error) error {
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return fmt.Errorf("making a directory for the run: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return do(dir)
}
