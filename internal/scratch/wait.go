package scratch

import (
	"context"
	"time"

	"github.com/gofrs/flock"

	"github.com/krmcat/krmcat/internal/ownfile"
)

// lockPoll is the interval at which a lock of another process is tried again.
const lockPoll = 20 * time.Millisecond

// Lock waits for the lock of a file, and creates the file if it is missing. The lock ends with the
// call of unlock or with this process. The error is that of ctx, or the reason why there is no
// lock: a system without locks, or something at the path that is no file.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	l := flock.New(path, flock.SetFlag(ownfile.LockFlag))
	if _, err := l.TryLockContext(ctx, lockPoll); err != nil {
		_ = l.Close()
		return nil, err
	}
	return func() { _ = l.Close() }, nil
}
