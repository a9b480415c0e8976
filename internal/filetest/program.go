package filetest

import (
	"os"
	"syscall"
)

// WriteProgram writes a file that is to be started, in place of what is there. No process is
// forked meanwhile: until it is another program it would hold the file open for writing, and
// the system starts no such file ("text file busy", golang.org/issue/22315).
func WriteProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o755)
}

// Settle waits until every process that was forked before is another program, and holds open
// nothing that was written before by other means.
func Settle() {
	syscall.ForkLock.Lock()
	syscall.ForkLock.Unlock() //nolint:staticcheck,gocritic // the waiting is all that is wanted
}
