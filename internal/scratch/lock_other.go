//go:build !linux && !darwin

package scratch

import (
	"context"
	"os"
	"path/filepath"
)

// LockIn is Lock for a file in an open directory.
func LockIn(ctx context.Context, in *os.Root, name string) (unlock func(), err error) {
	return Lock(ctx, filepath.Join(in.Name(), name))
}

// makeLocked returns nil: nothing is swept on this system.
func makeLocked(string) *Dir { return nil }

// makeBelow returns nil: nothing is swept on this system.
func makeBelow(string, string) *Dir { return nil }
