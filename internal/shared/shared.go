package shared

import (
	"context"
	"sync"
)

// Calls shares answers among callers that use the same key. It is safe for concurrent use, and the
// zero value is ready.
type Calls[K comparable, V any] struct {
	// Forget has an answer given to those who wait for it alone. Without it, it is given to all who
	// ask later too.
	Forget bool
	// Again has an error be for the caller who works alone, and the next one work anew. Without it an
	// error is an answer like another, unless the caller who works gave up.
	Again bool

	mu sync.Mutex
	m  map[K]*call[V]
}

// call is one piece of work. Its answer is there once done is closed.
type call[V any] struct {
	done   chan struct{}
	answer bool // value and err are for all
	value  V
	err    error
}

// Do returns the answer for a key: one that is kept, or that of who works for it, or else that of
// work, which is called then. work ends with ctx. The error is work's, or the cause of ctx's end.
func (c *Calls[K, V]) Do(ctx context.Context, key K, work func() (V, error)) (V, error) {
	var none V
	for {
		now, mine, err := c.join(ctx, key)
		switch {
		case err != nil:
			return none, err
		case mine:
			return c.lead(ctx, key, now, work)
		}
		if err := now.wait(ctx); err != nil {
			return none, err
		}
		if now.answer {
			return now.value, now.err
		}
	}
}

// wait waits for the end of the work. The error is the cause of ctx's end.
func (c *call[V]) wait(ctx context.Context) error {
	select {
	case <-c.done: // which takes no time, also for who has none left
		return nil
	default:
	}
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// join returns the work for a key, and whether it is the caller's to do. Who has given up does none.
func (c *Calls[K, V]) join(ctx context.Context, key K) (work *call[V], mine bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.m[key]; now != nil {
		return now, false, nil
	}
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	if c.m == nil {
		c.m = map[K]*call[V]{}
	}
	now := &call[V]{done: make(chan struct{})}
	c.m[key] = now
	return now, true, nil
}

// lead does the work. Where work panics there is no answer, and the next caller works.
func (c *Calls[K, V]) lead(ctx context.Context, key K, now *call[V], work func() (V, error)) (V, error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.Forget || !now.answer {
			delete(c.m, key)
		}
		close(now.done)
	}()
	now.value, now.err = work()
	now.answer = now.err == nil || !c.Again && ctx.Err() == nil
	return now.value, now.err
}
