package leave

import (
	"context"
	"sync"
)

// Leaver says when the process may be ended although a command has not. The zero value is
// ready; a nil one is of a process that nobody ends.
type Leaver struct {
	mu    sync.Mutex
	held  int                  // how much is half done outside of the process
	tidy  map[*func()]struct{} // what is to be removed before the end
	then  func()               // what ends the process, nil while nobody wants to
	ended bool
}

// When calls end as soon as nothing is held: now, or when that is so. Before it, all that was
// handed to Tidy is called. While end runs, nothing new can be held.
func (l *Leaver) When(end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.then = end
	l.end()
}

// end ends the process where that may be.
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

// Hold says that something outside of the process is half done, such as a file that is
// written or a process that is to be ended, until what it returns is called.
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

// Tidy has remove called before the process is ended, unless what it returns was called,
// which calls it too.
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

// With is a context whose commands end by a Leaver.
func With(ctx context.Context, l *Leaver) context.Context { return context.WithValue(ctx, key{}, l) }

// Of is the Leaver of a context, nil for none.
func Of(ctx context.Context) *Leaver {
	l, _ := ctx.Value(key{}).(*Leaver)
	return l
}
