package sandbox

// opKind is what stands at one place of a confined process's file system.
type opKind int

const (
	opDir     opKind = iota // an empty directory
	opTmpfs                 // an empty file system in memory, of at most size bytes
	opBind                  // src of this machine, with all that is mounted below it
	opSymlink               // a link whose text is src
	opEmpty                 // an empty file that nobody can write
	opProc                  // the processes of its own namespace
	opFile                  // a program that is held, of size bytes, in an empty directory of its own
	opDev                   // null, zero, full, random, urandom, tty, fd, stdin, stdout, stderr, shm, and where the engine makes them, terminals
)

// op puts something at one place of the file system of a confined process. A list of
// them, in order, is all that the process sees: it starts with nothing but an empty
// root, which cannot be written to once all ops are done.
type op struct {
	kind  opKind
	src   string // see opKind
	dst   string // absolute and clean, as the process sees it; directories above it are made
	write bool   // a bind that can be written to; everything else but tmpfs cannot
	size  int64  // of a tmpfs, in bytes, and of /dev/shm
}

// within reports whether p is dir or lies below it. Both are clean and absolute.
func within(p, dir string) bool {
	if dir == "/" || p == dir {
		return true
	}
	return len(p) > len(dir) && p[:len(dir)] == dir && p[len(dir)] == '/'
}
