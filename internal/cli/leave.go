package cli

import "sync"

// Leaver says when the process may be ended although a command has not: while it is stuck in
// what takes no context, and leaves nothing half done on the disk. The zero value is ready.
type Leaver struct {
	mu   sync.Mutex
	may  int    // how many are stuck so
	then func() // what ends the process, nil while nobody wants to
}

// When calls end once the process may be ended: now, or when that is so. It does not return
// where end ends the process.
func (l *Leaver) When(end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.then = end; l.may > 0 {
		end()
	}
}

// stuck says that the process may be ended until what it returns is called.
func (l *Leaver) stuck() (over func()) {
	if l == nil {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.may++; l.then != nil {
		l.then()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.may--
	}
}
