package shared

import (
	"context"
	"sync"
)

// Calls shares answers among callers of the same key. It is safe for concurrent use, and its zero
// value is ready.
type Calls[K comparable, V any] struct {
	// Forget gives an answer to the callers that wait for it, and to no later ones.
	Forget bool
	// Again gives an error to the caller who did the work alone, and the next caller does it again.
	// Without it an error is an answer, unless the context of that caller ended.
	Again bool

	mu sync.Mutex
	m  map[K]*call[V]
}

// call is one piece of work. Its answer is set when done is closed.
type call[V any] struct {
	done   chan struct{}
	answer bool // value and err are for all callers
	value  V
	err    error
}

// Do returns the answer for a key: a kept one, that of the caller who is at work, or that of work,
// which it calls otherwise. work must end with ctx. The error is that of work, or the cause of the
// end of ctx.
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

// wait waits for the end of the work. The error is the cause of the end of ctx.
func (c *call[V]) wait(ctx context.Context) error {
	select {
	case <-c.done: // takes no time, so it also serves a caller whose context ended
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

// join returns the work for a key, and reports whether the caller must do it. A caller whose
// context ended never must.
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

// lead does the work. If work panics there is no answer, and the next caller does it.
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
