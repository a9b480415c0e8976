package exec

import (
	"context"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/sandbox"
)

// holder keeps the programs of a process: many functions may be one program, which is read
// and hashed once. Nothing of it can change any more.
type holder struct {
	mu sync.Mutex
	m  map[heldKey]*heldProgram
}

// heldKey is what makes a program the same: the bytes that were verified, and what is taken
// out of them.
type heldKey struct {
	blob      digest.Digest
	bin, name string
}

type heldProgram struct {
	turn    chan struct{}
	program *sandbox.Program // nil until it was loaded
}

func newHolder() *holder { return &holder{m: map[heldKey]*heldProgram{}} }

// get returns a program, and loads it where nobody has before. The error is load's, or the
// context's; who comes next tries again.
func (h *holder) get(ctx context.Context, key heldKey, load func() (*sandbox.Program, error)) (*sandbox.Program, error) {
	h.mu.Lock()
	p := h.m[key]
	if p == nil {
		p = &heldProgram{turn: make(chan struct{}, 1)}
		h.m[key] = p
	}
	h.mu.Unlock()
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p.program != nil {
		return p.program, nil
	}
	program, err := load()
	if err == nil {
		p.program = program
	}
	return program, err
}
