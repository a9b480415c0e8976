package filetest

import (
	"os"
	"syscall"
)

// WriteProgram writes or replaces a file that is to be started. No process is forked meanwhile. A
// forked process holds the file open for writing until it executes another program, and the system
// does not start such a file ("text file busy", golang.org/issue/22315).
func WriteProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o755)
}

// Settle waits until every process that was forked before executes another program. From then on no
// such process holds a file open that was written by other means than WriteProgram.
func Settle() {
	syscall.ForkLock.Lock()
	syscall.ForkLock.Unlock() //nolint:staticcheck,gocritic // the lock is only waited for
}
