package shim

import (
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// While the file system is built, the old root is at oldRoot and the new one at newRoot.
const (
	oldRoot = "/old"
	newRoot = "/new"
)

const (
	dirMode    = 0o755
	inodeShare = 4096    // bytes of a tmpfs's size per inode
	smallSize  = 1 << 20 // bytes of a tmpfs that holds only directories and links

	quiet = syscall.MS_NOSUID | syscall.MS_NODEV
)

// build makes a file system by ops and moves into it. program is the descriptor with the content
// of a File. It needs a mount namespace and a user namespace of its own.
func build(ops []Op, program int) error {
	defer syscall.Umask(syscall.Umask(0)) // the program keeps its umask
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return failed("mounts of its own", err)
	}
	if err := enter(); err != nil {
		return err
	}
	for _, o := range ops {
		o.Dst = strings.TrimSuffix(o.Dst, "/") // "" for the root
		if err := put(o, program); err != nil {
			return failed(o.Kind+" at "+o.Dst, err)
		}
	}
	for _, o := range ops {
		if o.Kind == Tmpfs && !o.Write {
			if err := readOnly(newRoot+o.Dst, false); err != nil {
				return failed("making "+o.Dst+" read-only", err)
			}
		}
	}
	return moveIn()
}

// enter makes an empty root beside the old one.
func enter() error {
	const base = "/tmp" // any directory: it is covered here, and visible in oldRoot
	if err := syscall.Mount("tmpfs", base, "tmpfs", quiet, "mode=0755,size="+strconv.Itoa(smallSize)); err != nil {
		return failed("an empty file system", err)
	}
	for _, d := range []string{oldRoot, newRoot} {
		if err := syscall.Mkdir(base+d, dirMode); err != nil {
			return failed("an empty file system", err)
		}
	}
	if err := syscall.PivotRoot(base, base+oldRoot); err != nil {
		return failed("changing the root", err)
	}
	if err := syscall.Chdir("/"); err != nil {
		return err
	}
	// From here on, no error can write to this machine's files.
	if err := setattr(oldRoot, true, attrRDOnly, 0); err != nil {
		return failed("making the old root read-only", err)
	}
	// In the same file system: the kernel takes down each further one at the end.
	return syscall.Mount(newRoot, newRoot, "", syscall.MS_BIND, "")
}

// moveIn makes the new root the only one.
func moveIn() error {
	if err := syscall.Unmount(oldRoot, syscall.MNT_DETACH); err != nil {
		return failed("leaving the old root", err)
	}
	if err := readOnly(newRoot, false); err != nil {
		return failed("making the root read-only", err)
	}
	if err := syscall.Chdir(newRoot); err != nil {
		return err
	}
	if err := syscall.PivotRoot(".", "."); err != nil {
		return failed("changing the root", err)
	}
	if err := syscall.Unmount(".", syscall.MNT_DETACH); err != nil {
		return failed("leaving the old root", err)
	}
	return syscall.Chdir("/")
}

func put(o Op, program int) error {
	dst := newRoot + o.Dst
	if err := os.MkdirAll(path.Dir(dst), dirMode); err != nil {
		return err
	}
	switch o.Kind {
	case Dir:
		return os.MkdirAll(dst, dirMode)
	case File:
		return file(program, dst, o.Size)
	case Tmpfs:
		return tmpfs(dst, o)
	case Bind:
		return bind(o.Src, dst, o.Write)
	case Symlink:
		return syscall.Symlink(o.Src, dst)
	case Empty:
		return bind("/dev/null", dst, false)
	case Proc:
		return proc(dst)
	case Dev:
		return dev(dst, o.Size)
	}
	return syscall.EINVAL
}

func tmpfs(dst string, o Op) error {
	if err := os.MkdirAll(dst, dirMode); err != nil {
		return err
	}
	mode, size := "mode=0755", int64(smallSize)
	if o.Write {
		mode, size = "mode=1777", o.Size
	}
	// Empty files take memory too, so the number of inodes is bounded.
	return syscall.Mount("tmpfs", dst, "tmpfs", quiet, mode+",size="+strconv.FormatInt(size, 10)+",nr_inodes="+strconv.FormatInt(max(size/inodeShare, 64), 10))
}

// bind mounts a file or directory of the old root. The mount point may exist already.
func bind(src, dst string, write bool) error {
	info, err := os.Stat(oldRoot + src)
	if err != nil {
		return err
	}
	if err := point(dst, info.IsDir()); err != nil {
		return err
	}
	if err := syscall.Mount(oldRoot+src, dst, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return err
	}
	if write {
		return setattr(dst, true, attrNoSUID|attrNoDev, attrRDOnly)
	}
	return readOnly(dst, true)
}

// point makes a mount point.
func point(dst string, dir bool) error {
	if _, err := os.Lstat(dst); err == nil {
		return nil
	}
	if dir {
		return os.Mkdir(dst, dirMode)
	}
	f, err := os.OpenFile(dst, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return err
	}
	return f.Close()
}

// file makes an executable with the content of a descriptor, in a read-only file system of its
// own. It has no path in any other file system.
func file(from int, dst string, size int64) error {
	const page = 4096
	dir := path.Dir(dst)
	options := "mode=0755,nr_inodes=8,size=" + strconv.FormatInt(size+2*page, 10)
	// With huge pages, if the kernel has them, it takes a quarter of the time.
	err := syscall.Mount("tmpfs", dir, "tmpfs", quiet, options+",huge=within_size")
	if err == syscall.EINVAL {
		err = syscall.Mount("tmpfs", dir, "tmpfs", quiet, options)
	}
	if err != nil {
		return err
	}
	fd, err := syscall.Open(dst, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC, 0o555)
	if err != nil {
		return err
	}
	err = syscall.Ftruncate(fd, size)
	for at := int64(0); at < size && err == nil; {
		var n int
		n, err = syscall.Sendfile(fd, from, &at, int(min(size-at, 1<<30)))
		if err == nil && n == 0 {
			err = syscall.EIO // the sealed file is shorter than its size
		}
	}
	if cerr := syscall.Close(fd); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return readOnly(dir, false)
}

// proc mounts the proc file system of this PID namespace. The kernel refuses that in a user
// namespace if parts of the machine's /proc are hidden, as in containers. An empty file system
// covers it then.
func proc(dst string) error {
	if err := os.MkdirAll(dst, dirMode); err != nil {
		return err
	}
	err := syscall.Mount("proc", dst, "proc", quiet|syscall.MS_NOEXEC, "")
	if err != syscall.EPERM {
		return err
	}
	if err := tmpfs(dst, Op{}); err != nil {
		return err
	}
	return readOnly(dst, false)
}

// lockProc makes the files of /proc read-only by which root can change the machine, and hides
// those that tell about it. Their permissions depend on the user, not on capabilities.
func lockProc() error {
	for _, name := range []string{"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"} {
		p := "/proc/" + name
		if _, err := os.Lstat(p); err != nil {
			continue // not in this kernel
		}
		if err := syscall.Mount(p, p, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return failed("making "+p+" read-only", err)
		}
		if err := readOnly(p, true); err != nil {
			return failed("making "+p+" read-only", err)
		}
	}
	for _, name := range []string{"kcore", "keys", "key-users", "kmsg", "latency_stats", "timer_list", "sched_debug", "kpagecount", "kpageflags", "kpagecgroup", "vmallocinfo"} {
		p := "/proc/" + name
		if err := syscall.Mount("/dev/null", p, "", syscall.MS_BIND, ""); err != nil && err != syscall.ENOENT {
			return failed("hiding "+p, err)
		}
	}
	return nil
}

func dev(dst string, shared int64) error {
	if err := tmpfs(dst, Op{}); err != nil {
		return err
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if err := point(dst+"/"+name, false); err != nil {
			return err
		}
		if err := syscall.Mount(oldRoot+"/dev/"+name, dst+"/"+name, "", syscall.MS_BIND, ""); err != nil {
			return failed("the device "+name, err)
		}
	}
	for name, text := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := syscall.Symlink(text, dst+"/"+name); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dst+"/shm", dirMode); err != nil {
		return err
	}
	if err := tmpfs(dst+"/shm", Op{Write: true, Size: shared}); err != nil {
		return err
	}
	return readOnly(dst, false)
}

// Attributes of mount_setattr(2).
const (
	attrRDOnly = 1
	attrNoSUID = 2
	attrNoDev  = 4

	atFDCWD     = -100
	atRecursive = 0x8000
)

// readOnly makes a mount read-only, and all mounts below it if recursive.
func readOnly(dst string, recursive bool) error {
	attr := uint64(attrRDOnly | attrNoSUID)
	if recursive {
		attr |= attrNoDev
	}
	return setattr(dst, recursive, attr, 0)
}

func setattr(dst string, recursive bool, set, clear uint64) error {
	p, err := syscall.BytePtrFromString(dst)
	if err != nil {
		return err
	}
	attr := struct{ set, clear, propagation, userns uint64 }{set: set, clear: clear}
	flags := uintptr(0)
	if recursive {
		flags = atRecursive
	}
	at := atFDCWD
	_, _, e := syscall.Syscall6(sysMountSetattr, uintptr(at), uintptr(unsafe.Pointer(p)), flags,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if e == syscall.ENOSYS {
		return failed("Linux 5.12 or newer is needed", e)
	}
	if e != 0 {
		return e
	}
	return nil
}
