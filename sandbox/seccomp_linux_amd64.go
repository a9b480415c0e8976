package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// syscallNumbers returns the numbers of the calls that are denied, for this processor. It does
// not have all of them.
func syscallNumbers() map[string]uint32 {
	return map[string]uint32{
		"mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "pivot_root": unix.SYS_PIVOT_ROOT,
		"chroot": unix.SYS_CHROOT, "fsopen": unix.SYS_FSOPEN, "fsconfig": unix.SYS_FSCONFIG,
		"fsmount": unix.SYS_FSMOUNT, "fspick": unix.SYS_FSPICK, "move_mount": unix.SYS_MOVE_MOUNT,
		"open_tree": unix.SYS_OPEN_TREE, "open_tree_attr": unix.SYS_OPEN_TREE_ATTR, "mount_setattr": unix.SYS_MOUNT_SETATTR,
		"open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT, "name_to_handle_at": unix.SYS_NAME_TO_HANDLE_AT, "fanotify_init": unix.SYS_FANOTIFY_INIT,
		"unshare": unix.SYS_UNSHARE, "setns": unix.SYS_SETNS, "ptrace": unix.SYS_PTRACE,
		"process_vm_readv": unix.SYS_PROCESS_VM_READV, "process_vm_writev": unix.SYS_PROCESS_VM_WRITEV, "process_madvise": unix.SYS_PROCESS_MADVISE,
		"pidfd_getfd": unix.SYS_PIDFD_GETFD, "kcmp": unix.SYS_KCMP, "add_key": unix.SYS_ADD_KEY,
		"request_key": unix.SYS_REQUEST_KEY, "keyctl": unix.SYS_KEYCTL, "bpf": unix.SYS_BPF,
		"perf_event_open": unix.SYS_PERF_EVENT_OPEN, "userfaultfd": unix.SYS_USERFAULTFD, "io_uring_setup": unix.SYS_IO_URING_SETUP,
		"io_uring_enter": unix.SYS_IO_URING_ENTER, "io_uring_register": unix.SYS_IO_URING_REGISTER, "init_module": unix.SYS_INIT_MODULE,
		"finit_module": unix.SYS_FINIT_MODULE, "delete_module": unix.SYS_DELETE_MODULE, "create_module": unix.SYS_CREATE_MODULE,
		"kexec_load": unix.SYS_KEXEC_LOAD, "kexec_file_load": unix.SYS_KEXEC_FILE_LOAD, "reboot": unix.SYS_REBOOT,
		"swapon": unix.SYS_SWAPON, "swapoff": unix.SYS_SWAPOFF, "acct": unix.SYS_ACCT,
		"quotactl": unix.SYS_QUOTACTL, "quotactl_fd": unix.SYS_QUOTACTL_FD, "syslog": unix.SYS_SYSLOG,
		"vhangup": unix.SYS_VHANGUP, "lookup_dcookie": unix.SYS_LOOKUP_DCOOKIE, "settimeofday": unix.SYS_SETTIMEOFDAY,
		"adjtimex": unix.SYS_ADJTIMEX, "clock_settime": unix.SYS_CLOCK_SETTIME, "clock_adjtime": unix.SYS_CLOCK_ADJTIME,
		"sethostname": unix.SYS_SETHOSTNAME, "setdomainname": unix.SYS_SETDOMAINNAME, "iopl": unix.SYS_IOPL,
		"ioperm": unix.SYS_IOPERM, "nfsservctl": unix.SYS_NFSSERVCTL, "uselib": unix.SYS_USELIB,
		"_sysctl": unix.SYS__SYSCTL, "sysfs": unix.SYS_SYSFS, "ustat": unix.SYS_USTAT,
		"move_pages": unix.SYS_MOVE_PAGES, "migrate_pages": unix.SYS_MIGRATE_PAGES, "clone3": unix.SYS_CLONE3,
		"ioctl": unix.SYS_IOCTL, "socket": unix.SYS_SOCKET, "clone": unix.SYS_CLONE,
		"chmod": unix.SYS_CHMOD, "fchmod": unix.SYS_FCHMOD, "fchmodat": unix.SYS_FCHMODAT,
		"fchmodat2": unix.SYS_FCHMODAT2, "chown": unix.SYS_CHOWN, "fchown": unix.SYS_FCHOWN,
		"lchown": unix.SYS_LCHOWN, "fchownat": unix.SYS_FCHOWNAT, "utime": unix.SYS_UTIME,
		"utimes": unix.SYS_UTIMES, "utimensat": unix.SYS_UTIMENSAT, "futimesat": unix.SYS_FUTIMESAT,
		"setxattr": unix.SYS_SETXATTR, "lsetxattr": unix.SYS_LSETXATTR, "fsetxattr": unix.SYS_FSETXATTR,
		"setxattrat": unix.SYS_SETXATTRAT, "removexattr": unix.SYS_REMOVEXATTR, "lremovexattr": unix.SYS_LREMOVEXATTR,
		"fremovexattr": unix.SYS_FREMOVEXATTR, "removexattrat": unix.SYS_REMOVEXATTRAT, "truncate": unix.SYS_TRUNCATE, "open": unix.SYS_OPEN, "openat": unix.SYS_OPENAT, "openat2": unix.SYS_OPENAT2,
		"kill": unix.SYS_KILL, "tkill": unix.SYS_TKILL, "tgkill": unix.SYS_TGKILL,
		"rt_sigqueueinfo": unix.SYS_RT_SIGQUEUEINFO, "rt_tgsigqueueinfo": unix.SYS_RT_TGSIGQUEUEINFO, "pidfd_send_signal": unix.SYS_PIDFD_SEND_SIGNAL,
		"memfd_create": unix.SYS_MEMFD_CREATE, "memfd_secret": unix.SYS_MEMFD_SECRET, "shmget": unix.SYS_SHMGET,
		"mmap":       unix.SYS_MMAP,
		"socketpair": unix.SYS_SOCKETPAIR, "shmat": unix.SYS_SHMAT, "shmctl": unix.SYS_SHMCTL, "semget": unix.SYS_SEMGET, "semop": unix.SYS_SEMOP,
		"semtimedop": unix.SYS_SEMTIMEDOP, "semctl": unix.SYS_SEMCTL, "msgget": unix.SYS_MSGGET, "msgsnd": unix.SYS_MSGSND,
		"msgrcv": unix.SYS_MSGRCV, "msgctl": unix.SYS_MSGCTL, "mq_open": unix.SYS_MQ_OPEN, "mq_unlink": unix.SYS_MQ_UNLINK,
		"prlimit64": unix.SYS_PRLIMIT64, "setpriority": unix.SYS_SETPRIORITY, "ioprio_set": unix.SYS_IOPRIO_SET, "fcntl": unix.SYS_FCNTL,
	}
}
