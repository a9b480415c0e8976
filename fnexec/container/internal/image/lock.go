package image

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/scratch"
)

const (
	// tempImage begins the names of directories in which images are being unpacked.
	tempImage  = ".tmp-"
	lockSuffix = ".lock"
)

// lockFile waits for a lock that processes share. Where the system has none, or the
// directory cannot be written to, everybody may go on: what is done under it is done by a
// rename at the end. The error is the context's.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	unlock, err = scratch.Lock(ctx, path)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return func() {}, nil //nolint:nilerr // without a lock
	}
	return unlock, nil
}

// tempImageDir makes a directory to unpack in, and holds a lock beside it as long as this
// process lives: what has none is a dead process's. remove takes both away.
func tempImageDir(ctx context.Context, dir string) (path string, remove func(), err error) {
	// Between making the one and the other nobody may look.
	unlock, err := lockFile(ctx, filepath.Join(dir, lockSuffix))
	if err != nil {
		return "", nil, err
	}
	defer unlock()
	path, err = os.MkdirTemp(dir, tempImage)
	if err != nil {
		return "", nil, err
	}
	l := flock.New(path+lockSuffix, flock.SetFlag(ownfile.LockFlag))
	_, _ = l.TryLock() // where there are no locks nobody looks for the dead
	return path, func() {
		_ = os.RemoveAll(path)
		_ = os.Remove(path + lockSuffix)
		_ = l.Close()
	}, nil
}

// sweepImages removes what processes that were killed have left.
func sweepImages(dir string) {
	all := flock.New(filepath.Join(dir, lockSuffix), flock.SetFlag(ownfile.LockFlag))
	if ok, err := all.TryLock(); err != nil || !ok {
		return // no locks here, or somebody else is at it
	}
	var dead []*flock.Flock
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempImage) {
			continue
		}
		base := strings.TrimSuffix(e.Name(), lockSuffix)
		l := flock.New(filepath.Join(dir, base+lockSuffix), flock.SetFlag(ownfile.LockFlag))
		if ok, err := l.TryLock(); err == nil && ok {
			dead = append(dead, l)
			continue
		}
		_ = l.Close()
	}
	_ = all.Close()
	for _, l := range dead { // which may take its time
		_ = os.RemoveAll(strings.TrimSuffix(l.Path(), lockSuffix))
		_ = os.Remove(l.Path())
		_ = l.Close()
	}
}
