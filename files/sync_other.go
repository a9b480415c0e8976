//go:build !linux

package files

import "os"

// syncAll syncs the files of a directory one by one: this system has no call for all of them.
func syncAll(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		f, err := root.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue // it cannot be written to, and was not
		}
		err = f.Sync()
		_ = f.Close()
		if err != nil {
			return err
		}
	}
	return syncDir(root, ".")
}
