package scratch

import (
	"context"
	"time"

	"github.com/gofrs/flock"

	"github.com/krmcat/krmcat/internal/ownfile"
)

// lockPoll is how often a lock that another process holds is asked for.
const lockPoll = 20 * time.Millisecond

// Lock waits for the lock of a file, which is made where it is missing. Nobody holds it any more
// once unlock was called, or this process has ended. The error is ctx's, or why there can be no
// lock: a system without them, or what is in the place of the file.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	l := flock.New(path, flock.SetFlag(ownfile.LockFlag))
	if _, err := l.TryLockContext(ctx, lockPoll); err != nil {
		_ = l.Close()
		return nil, err
	}
	return func() { _ = l.Close() }, nil
}
