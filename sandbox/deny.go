package sandbox

// deniedSyscalls names the system calls that a confined process does not get, whatever the
// engine: what could change or leave what it was put into, what reaches other
// processes, and doors of the kernel that no function has a use for and that were holes
// before. Everything else is allowed, since the programs of images are anybody's. A denied
// call fails with EPERM. deniedCalls are denied besides, by an argument; clone3, whose
// arguments cannot be looked at, does not exist (ENOSYS: C libraries then use clone).
func deniedSyscalls() []string {
	return []string{
		// What it sees of the file system, old and new way.
		"mount", "umount", "umount2", "pivot_root", "chroot",
		"fsopen", "fsconfig", "fsmount", "fspick", "move_mount", "open_tree", "open_tree_attr", "mount_setattr",
		"open_by_handle_at", "name_to_handle_at", "fanotify_init",
		// Namespaces, with which come capabilities.
		"unshare", "setns",
		// Other processes.
		"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp",
		// Keys, which no namespace separates.
		"add_key", "request_key", "keyctl",
		// Programs and queues in the kernel.
		"bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
		// The machine itself.
		"init_module", "finit_module", "delete_module", "create_module", "kexec_load", "kexec_file_load",
		"reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "vhangup", "lookup_dcookie",
		"settimeofday", "stime", "adjtimex", "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64",
		"sethostname", "setdomainname", "iopl", "ioperm", "nfsservctl", "uselib", "_sysctl", "sysfs", "ustat",
		"move_pages", "migrate_pages",
	}
}

// notThere is the call that is answered as if the kernel were too old for it.
const notThere = "clone3"

// deniedCall is a system call that is denied where one of its arguments, masked, has a
// value. The kernel reads only the lower 32 bits of these: so do the masks.
type deniedCall struct {
	name        string
	arg         uint
	mask, value uint64
	other       bool // denied where it has any other value
}

// low is a mask that leaves an argument as it is.
const low = 0xffffffff

// sharedMemory lists the ways to memory that is no process's own. They are denied where no
// control group counts it, since a limit on each process does not.
func sharedMemory() (names []string, calls []deniedCall) {
	const shared, anonymous = 0x01, 0x20 // flags of mmap
	return []string{"memfd_create", "memfd_secret", "shmget"}, []deniedCall{{name: "mmap", arg: 3, mask: shared | anonymous, value: shared | anonymous}}
}

// deniedCalls are denied by an argument.
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
