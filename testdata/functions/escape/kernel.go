//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setUID switches to root. In a namespace with one user and without capabilities, this gives no
// privileges.
func setUID([]string) error {
	runtime.LockOSThread()
	was := os.Geteuid()
	err := errors.Join(call("setuid(0)", unix.SYS_SETUID, 0), call("setresuid(0)", unix.SYS_SETRESUID, 0, 0, 0),
		call("setgid(0)", unix.SYS_SETGID, 0))
	if caps := effective(); strings.Trim(caps, "0") != "" || was != 0 && err == nil {
		return nil
	}
	return errors.Join(err, fmt.Errorf("it is user %d and has no capabilities", was))
}

// runAs runs a copy of this program that is setuid root: PATH.
func runAs(paths []string) error {
	return each(paths, func(p string) error {
		out, err := exec.Command(p, "as-user").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		var id int
		var caps string
		if _, err := fmt.Sscan(string(out), &id, &caps); err != nil {
			return err
		}
		if strings.Trim(caps, "0") == "" && (id != 0 || os.Geteuid() == 0) {
			return fmt.Errorf("%s is user %d and has the capabilities %s", p, id, caps)
		}
		return nil
	})
}

// capabilities runs a copy of this program that has file capabilities: PATH.
func capabilities(paths []string) error {
	return each(paths, func(p string) error {
		out, err := exec.Command(p, "as-caps").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		if caps := strings.TrimSpace(string(out)); strings.Trim(caps, "0") == "" {
			return fmt.Errorf("%s has the capabilities %s", p, caps)
		}
		return nil
	})
}

// effective returns the effective capabilities of this process.
func effective() string {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%08x%08x", data[1].Effective, data[0].Effective)
}

// ptrace attaches to processes: PID…
func ptrace(pids []string) error {
	runtime.LockOSThread()
	return each(pids, func(p string) error {
		const seize, detach = 0x4206, 17
		if err := call("ptrace "+p, unix.SYS_PTRACE, seize, uintptr(number(p)), 0, 0); err != nil {
			return err
		}
		_ = call("detaching", unix.SYS_PTRACE, detach, uintptr(number(p)), 0, 0)
		return nil
	})
}

// vmRead reads the memory of processes: PID…
func vmRead(pids []string) error {
	return each(pids, func(p string) error {
		f, err := os.Open("/proc/" + p + "/mem")
		if err == nil {
			return f.Close()
		}
		var b [1]byte
		local := unix.Iovec{Base: &b[0], Len: 1}
		_, err2 := unix.ProcessVMReadv(number(p), []unix.Iovec{local}, []unix.RemoteIovec{{Base: 0x400000, Len: 1}}, 0)
		if errors.Is(err2, unix.EFAULT) {
			err2 = nil // the read was allowed, and nothing is mapped there
		}
		if err2 == nil {
			return nil
		}
		return fmt.Errorf("%w, process_vm_readv: %w", err, err2)
	})
}

// unshare creates namespaces.
func unshare([]string) error {
	runtime.LockOSThread()
	var errs []error
	for _, flag := range []int{unix.CLONE_NEWNS, unix.CLONE_NEWUTS, unix.CLONE_NEWNET} {
		err := unix.Unshare(flag)
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("unshare %x: %w", flag, err))
	}
	return errors.Join(errs...)
}

// userNamespace starts a process that is root of a new user namespace.
func userNamespace([]string) error {
	c := start("as-nobody")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	return fmtErr("user namespace", c.Run())
}

// setns enters the namespaces of processes: PID…
func setns(pids []string) error {
	runtime.LockOSThread()
	return each(append(pids, "1"), func(p string) error {
		var errs []error
		for _, kind := range []string{"uts", "net", "ipc", "pid", "user"} {
			fd, err := unix.Open("/proc/"+p+"/ns/"+kind, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s of %s: %w", kind, p, err))
				continue
			}
			err = unix.Setns(fd, 0)
			_ = unix.Close(fd)
			if err == nil {
				return nil
			}
			errs = append(errs, fmt.Errorf("setns %s of %s: %w", kind, p, err))
		}
		return errors.Join(errs...)
	})
}

func ioUring([]string) error {
	var params [120]byte
	return call("io_uring_setup", unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
}

// bpf creates a BPF map.
func bpf([]string) error {
	attr := struct{ kind, key, value, entries uint32 }{2, 4, 4, 1}
	return call("bpf", unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
}

// keys adds a key to a keyring. Namespaces do not separate keyrings.
func keys([]string) error {
	_, err := unix.AddKey("user", "krmcat-escape", []byte("x"), unix.KEY_SPEC_SESSION_KEYRING)
	return fmtErr("add_key", err)
}

// thirtyTwo makes a 32-bit system call in a child process: a filter may end the calling thread, and
// then the process hangs.
func thirtyTwo([]string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, self(), "as-32-bit").CombinedOutput()
	if err != nil {
		return fmt.Errorf("32-bit getuid: %w: %s", err, out)
	}
	return nil
}

// terminal types into the user's terminal.
func terminal([]string) error {
	var errs []error
	type stream struct {
		name string
		fd   int
	}
	all := []stream{{"stdin", 0}, {"stdout", 1}, {"stderr", 2}}
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		all = append(all, stream{"/dev/tty", fd})
	} else {
		errs = append(errs, fmtErr("/dev/tty", err))
	}
	for _, s := range all {
		c := byte('#')
		err := call("typing into "+s.name, unix.SYS_IOCTL, uintptr(s.fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
