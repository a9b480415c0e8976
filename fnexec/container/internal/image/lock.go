package image

import (
	"context"

	"github.com/krmcat/krmcat/internal/scratch"
)

const (
	// tempImage is the prefix of directories in which images are unpacked.
	tempImage  = ".tmp-"
	lockSuffix = ".lock"
)

// lockFile waits for a lock that processes share. Without locks on this system, or in a
// directory that cannot be written to, it returns at once: the work under the lock ends with a
// rename, which is atomic. The error is the context's.
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
