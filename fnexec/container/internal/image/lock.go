package image

import (
	"context"

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
