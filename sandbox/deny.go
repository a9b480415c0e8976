package sandbox

// deniedSyscalls lists the system calls that every engine denies to every process. They could
// change or leave the sandbox, or access other processes, or they belong to parts of the
// kernel that functions do not need and that had vulnerabilities. All others are allowed,
// since an image may hold any program. A denied call fails with EPERM. deniedCalls are denied
// by their arguments. clone3 passes those in memory, where the filter cannot read them: it
// fails with ENOSYS, and C libraries then use clone.
func deniedSyscalls() []string {
	return []string{
		// The old and the new calls for mounts.
		"mount", "umount", "umount2", "pivot_root", "chroot",
		"fsopen", "fsconfig", "fsmount", "fspick", "move_mount", "open_tree", "open_tree_attr", "mount_setattr",
		"open_by_handle_at", "name_to_handle_at", "fanotify_init",
		// Namespaces: a process has all capabilities in a new one.
		"unshare", "setns",
		// Other processes.
		"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp",
		// Keys: no namespace separates them.
		"add_key", "request_key", "keyctl",
		// Programs and queues in the kernel.
		"bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
		// The state of the machine.
		"init_module", "finit_module", "delete_module", "create_module", "kexec_load", "kexec_file_load",
		"reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "vhangup", "lookup_dcookie",
		"settimeofday", "stime", "adjtimex", "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64",
		"sethostname", "setdomainname", "iopl", "ioperm", "nfsservctl", "uselib", "_sysctl", "sysfs", "ustat",
		"move_pages", "migrate_pages",
	}
}

// notThere is the call that fails with ENOSYS, as on an old kernel.
const notThere = "clone3"

// deniedCall is a system call that is denied if one of its arguments, masked, has a value. The
// kernel reads only the lower 32 bits of these arguments, and so do the masks.
type deniedCall struct {
	name        string
	arg         uint
	mask, value uint64
	other       bool // denied if the argument has any other value
}

// low masks the lower 32 bits.
const low = 0xffffffff

// sharedMemory lists the calls that make memory that belongs to no process. They are denied
// without a control group: a limit on each process does not count such memory.
func sharedMemory() (names []string, calls []deniedCall) {
	const shared, anonymous = 0x01, 0x20 // flags of mmap
	return []string{"memfd_create", "memfd_secret", "shmget"}, []deniedCall{{name: "mmap", arg: 3, mask: shared | anonymous, value: shared | anonymous}}
}

// deniedCalls lists the calls that are denied by an argument.
func deniedCalls() []deniedCall {
	calls := []deniedCall{
		{name: "ioctl", arg: 1, mask: low, value: 0x5412}, // TIOCSTI: types into the user's terminal
		{name: "ioctl", arg: 1, mask: low, value: 0x541c}, // TIOCLINUX: pastes into it
		{name: "socket", mask: low, value: 40},            // AF_VSOCK: reaches the hypervisor past the network namespace
	}
	// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET.
	for _, flag := range []uint64{0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000} {
		calls = append(calls, deniedCall{name: "clone", mask: flag, value: flag})
	}
	return calls
}
