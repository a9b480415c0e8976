package registry

import (
	"context"
	"sync"
)

// flights lets callers that ask for the same thing at the same time share one answer.
// The work goes on as long as one of them still waits.
type flights struct {
	mu sync.Mutex
	m  map[string]*flight
}

type flight struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	data    []byte
	err     error
}

func (fs *flights) do(ctx context.Context, key string, work func(context.Context) ([]byte, error)) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f := fs.join(ctx, key, work)
	defer fs.leave(key, f)
	select {
	case <-f.done:
		return f.data, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (fs *flights) join(ctx context.Context, key string, work func(context.Context) ([]byte, error)) *flight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f, ok := fs.m[key]; ok {
		f.waiting++
		return f
	}
	// The first caller may give up before the others do.
	shared, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{waiting: 1, cancel: cancel, done: make(chan struct{})}
	if fs.m == nil {
		fs.m = map[string]*flight{}
	}
	fs.m[key] = f
	go func() {
		f.data, f.err = work(shared)
		close(f.done)
	}()
	return f
}

// leave forgets a flight that has landed or that nobody waits for: who comes next
// starts anew.
func (fs *flights) leave(key string, f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.waiting--
	landed := false
	select {
	case <-f.done:
		landed = true
	default:
	}
	if fs.m[key] == f && (landed || f.waiting == 0) {
		delete(fs.m, key)
	}
	if f.waiting == 0 {
		f.cancel()
	}
}
