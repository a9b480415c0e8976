package sandbox

// opKind is what an op makes in the file system of a confined process.
type opKind int

const (
	opDir     opKind = iota // an empty directory
	opTmpfs                 // an empty tmpfs of at most size bytes
	opBind                  // a bind mount of src of this machine, with all mounts below it
	opSymlink               // a symbolic link with the text src
	opEmpty                 // an empty file that nobody can write
	opProc                  // a proc file system of the process's PID namespace
	opFile                  // a held program of size bytes, in an empty directory of its own
	opDev                   // devices, their links, shm; terminals if the engine makes them
)

// op makes one path in the file system of a confined process. A list of ops, in order, is all
// that the process sees: its root is empty at first, and read-only after the last op.
type op struct {
	kind  opKind
	src   string // see opKind
	dst   string // absolute and clean, as the process sees it; parent directories are made
	write bool   // the bind mount or tmpfs is writable; nothing else ever is
	size  int64  // of the tmpfs, or of /dev/shm, in bytes
}

// within reports whether p is dir or is below it. Both are absolute and clean.
func within(p, dir string) bool {
	if dir == "/" || p == dir {
		return true
	}
	return len(p) > len(dir) && p[:len(dir)] == dir && p[len(dir)] == '/'
}
