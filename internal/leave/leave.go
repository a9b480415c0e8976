package leave

import (
	"context"
	"sync"
)

// Leaver decides when the process may be ended before its command has ended. The zero value is
// ready. A nil Leaver is that of a process that is never ended.
type Leaver struct {
	mu    sync.Mutex
	held  int                  // incomplete operations outside of the process
	tidy  map[*func()]struct{} // to be called before the end
	then  func()               // ends the process; nil until When is called
	ended bool
}

// When calls end as soon as nothing is held. Before that it calls all functions of Tidy. While end
// runs, nothing new can be held.
func (l *Leaver) When(end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.then = end
	l.end()
}

// end ends the process if nothing is held.
func (l *Leaver) end() {
	if l.then == nil || l.held > 0 || l.ended {
		return
	}
	l.ended = true
	for f := range l.tidy {
		(*f)()
	}
	l.then()
}

// Hold begins an operation outside of the process that must not be interrupted, such as writing a
// file or ending another process. The returned function ends it.
func (l *Leaver) Hold() (release func()) {
	if l == nil {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held--
		l.end()
	})
}

// Tidy registers remove, to be called before the process is ended. The returned function calls
// remove, and removes the registration.
func (l *Leaver) Tidy(remove func()) (now func()) {
	remove = sync.OnceFunc(remove)
	if l == nil {
		return remove
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tidy == nil {
		l.tidy = map[*func()]struct{}{}
	}
	key := &remove
	l.tidy[key] = struct{}{}
	return func() {
		remove()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.tidy, key)
	}
}

type key struct{}

// With returns a context that carries a Leaver.
func With(ctx context.Context, l *Leaver) context.Context { return context.WithValue(ctx, key{}, l) }

// Of returns the Leaver of a context, nil for none.
func Of(ctx context.Context) *Leaver {
	l, _ := ctx.Value(key{}).(*Leaver)
	return l
}
