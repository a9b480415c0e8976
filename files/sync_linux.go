package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncAll writes the file system of a directory to its disk.
func syncAll(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd())))
}
