//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// secret is in all files and variables that must not be readable.
const secret = "hunter2"

// read reads files that hold the secret.
func read(paths []string) error {
	return each(paths, func(p string) error {
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if !bytes.Contains(data, []byte(secret)) {
			return fmt.Errorf("%s: another file of that name, without the secret", p)
		}
		return nil
	})
}

// list searches a directory: DIR:PART is an entry whose name contains PART.
func list(places []string) error {
	return each(places, func(p string) error {
		dir, part, _ := strings.Cut(p, ":")
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), part) {
				return nil
			}
		}
		return fmt.Errorf("%s has %d entries, none of them like %s", dir, len(entries), part)
	})
}

// write creates files.
func write(paths []string) error {
	return each(paths, func(p string) error {
		f, err := os.OpenFile(p, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString("ESCAPED\n")
		return errors.Join(err, f.Close())
	})
}

// appendTo changes existing files.
func appendTo(paths []string) error {
	return each(paths, func(p string) error {
		f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString("ESCAPED\n")
		return errors.Join(err, f.Close())
	})
}

// open only opens files. A path that begins with + is opened for writing.
func open(paths []string) error {
	return each(paths, func(p string) error {
		flags := os.O_RDONLY
		name, write := strings.CutPrefix(p, "+")
		if write {
			flags = os.O_WRONLY
		}
		f, err := os.OpenFile(name, flags|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		return f.Close()
	})
}

// empty truncates files that it may only read: FILE…
func empty(paths []string) error {
	return each(paths, func(p string) error {
		errs := []error{unix.Truncate(p, 0)}
		for _, how := range []int{unix.O_RDONLY, unix.O_ACCMODE, unix.O_WRONLY} {
			fd, err := unix.Open(p, how|unix.O_TRUNC, 0)
			if err == nil {
				_ = unix.Close(fd)
			}
			errs = append(errs, err)
			fd, err = unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{Flags: uint64(how | unix.O_TRUNC)})
			if err == nil {
				_ = unix.Close(fd)
			}
			errs = append(errs, err)
		}
		for _, err := range errs {
			if err == nil {
				return nil
			}
		}
		return errors.Join(errs...)
	})
}

// flags changes the attributes of files that it can read: FILE…
func flags(paths []string) error {
	return each(paths, func(p string) error {
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		const noDump = 0x40
		now, _ := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		return fmtErr("attributes", unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(now^noDump)))
	})
}

// remove changes, renames or removes existing files.
func remove(paths []string) error {
	return each(paths, func(p string) error {
		var errs []error
		for _, err := range []error{os.Chmod(p, 0o777), os.Rename(p, p+".moved"), os.Remove(p)} {
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}

// fill writes more into directories than the limit: MIB DIR…
func fill(args []string) error {
	size, dirs := number(args[0])<<20, args[1:]
	chunk := make([]byte, 1<<20)
	return each(dirs, func(dir string) error {
		f, err := os.CreateTemp(dir, "krmcat-fill-")
		if err != nil {
			return err
		}
		defer os.Remove(f.Name())
		defer f.Close()
		for written := 0; written < size; {
			n, err := f.Write(chunk)
			written += n
			if err != nil {
				return fmt.Errorf("after %d MiB: %w", written>>20, err)
			}
		}
		return nil
	})
}

// mount mounts a file system on a directory.
func mount(dirs []string) error {
	return each(append(dirs, "/tmp", "/mnt"), func(dir string) error {
		if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
			return fmt.Errorf("mount on %s: %w", dir, err)
		}
		return unix.Unmount(dir, unix.MNT_DETACH)
	})
}

// remount makes read-only mounts writable, by the old and the new system calls.
func remount([]string) error {
	errs := []error{}
	for _, dir := range []string{"/", "/usr", "/etc", "/proc", "/dev"} {
		err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND, "")
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("remounting %s: %w", dir, err))
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err == nil {
		return nil
	}
	if fd, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE); err == nil {
		return unix.Close(fd)
	}
	if err := unix.Unmount("/tmp", unix.MNT_DETACH); err == nil {
		return nil
	}
	return errors.Join(errs...)
}

func chroot([]string) error { return fmtErr("chroot", unix.Chroot("/tmp")) }

// mknod creates the device of the disk, in any directory that it can write to.
func mknod(dirs []string) error {
	return each(append(dirs, "/tmp", "/dev/shm"), func(dir string) error {
		p := filepath.Join(dir, "krmcat-device")
		if err := unix.Mknod(p, unix.S_IFBLK|0o666, int(unix.Mkdev(254, 0))); err != nil {
			return fmt.Errorf("mknod in %s: %w", dir, err)
		}
		return os.Remove(p)
	})
}

// handle opens files without a path, by file handles.
func handle([]string) error {
	h, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, "/", 0)
	if err != nil {
		return fmtErr("name_to_handle_at", err)
	}
	_ = mount
	fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	fd, err = unix.OpenByHandleAt(fd, h, unix.O_RDONLY)
	if err != nil {
		return fmtErr("open_by_handle_at", err)
	}
	return unix.Close(fd)
}

// cgroup writes to the files of control groups, mounted or not.
func cgroup(dirs []string) error {
	var errs []error
	for _, dir := range append(dirs, "/tmp") {
		if err := unix.Mount("none", dir, "cgroup", 0, "pids"); err == nil {
			return unix.Unmount(dir, unix.MNT_DETACH)
		} else {
			errs = append(errs, fmt.Errorf("mounting cgroup on %s: %w", dir, err))
		}
		if err := unix.Mount("none", dir, "cgroup2", 0, ""); err == nil {
			return unix.Unmount(dir, unix.MNT_DETACH)
		}
	}
	n := 0
	found := ""
	_ = filepath.WalkDir("/sys/fs/cgroup", func(p string, d fs.DirEntry, err error) error {
		if err != nil || n > 2000 {
			return nil //nolint:nilerr // unreadable entries are skipped
		}
		switch d.Name() {
		case "release_agent", "cgroup.procs", "pids.max", "memory.max", "memory.limit_in_bytes":
			n++
			if f, err := os.OpenFile(p, os.O_WRONLY, 0); err == nil {
				_ = f.Close()
				found = p
				return fs.SkipAll
			}
		}
		return nil
	})
	if found != "" {
		fmt.Fprintln(os.Stderr, "it can write to "+found)
		return nil
	}
	return errors.Join(append(errs, fmt.Errorf("none of %d files of control groups can be written to", n))...)
}

func fmtErr(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
