package sandbox

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// What follows are the parts of an OCI runtime's config.json that are used here:
// https://github.com/opencontainers/runtime-spec/blob/v1.0.2/config.md

type ociSpec struct {
	Version  string     `json:"ociVersion"`
	Process  ociProcess `json:"process"`
	Root     ociRoot    `json:"root"`
	Hostname string     `json:"hostname"`
	Mounts   []ociMount `json:"mounts"`
	Linux    ociLinux   `json:"linux"`
}

type ociProcess struct {
	User            ociUser         `json:"user"`
	Args            []string        `json:"args"`
	Env             []string        `json:"env"`
	Cwd             string          `json:"cwd"`
	Capabilities    ociCapabilities `json:"capabilities"`
	Rlimits         []ociRlimit     `json:"rlimits"`
	NoNewPrivileges bool            `json:"noNewPrivileges"`
}

type ociUser struct {
	UID   int `json:"uid"`
	GID   int `json:"gid"`
	Umask int `json:"umask"`
}

// ociCapabilities is a list of none: left out, it would mean some.
type ociCapabilities struct {
	Bounding    []string `json:"bounding"`
	Effective   []string `json:"effective"`
	Inheritable []string `json:"inheritable"`
	Permitted   []string `json:"permitted"`
	Ambient     []string `json:"ambient"`
}

type ociRlimit struct {
	Type string `json:"type"`
	Hard uint64 `json:"hard"`
	Soft uint64 `json:"soft"`
}

type ociRoot struct {
	Path     string `json:"path"`
	Readonly bool   `json:"readonly"`
}

type ociMount struct {
	Destination string   `json:"destination"`
	Type        string   `json:"type"`
	Source      string   `json:"source"`
	Options     []string `json:"options"`
}

type ociLinux struct {
	UIDMappings   []ociMapping   `json:"uidMappings,omitempty"`
	GIDMappings   []ociMapping   `json:"gidMappings,omitempty"`
	Namespaces    []ociNamespace `json:"namespaces"`
	Resources     *ociResources  `json:"resources,omitempty"`
	Seccomp       *ociSeccomp    `json:"seccomp,omitempty"`
	MaskedPaths   []string       `json:"maskedPaths,omitempty"`
	ReadonlyPaths []string       `json:"readonlyPaths,omitempty"`
}

type ociMapping struct {
	ContainerID int `json:"containerID"`
	HostID      int `json:"hostID"`
	Size        int `json:"size"`
}

type ociNamespace struct {
	Type string `json:"type"`
}

type ociResources struct {
	Memory *ociLimit `json:"memory,omitempty"`
	Pids   *ociLimit `json:"pids,omitempty"`
}

type ociLimit struct {
	Limit int64 `json:"limit"`
}

type ociSeccomp struct {
	DefaultAction string       `json:"defaultAction"`
	Architectures []string     `json:"architectures"`
	Syscalls      []ociSyscall `json:"syscalls"`
}

type ociSyscall struct {
	Names    []string `json:"names"`
	Action   string   `json:"action"`
	ErrnoRet uint     `json:"errnoRet"`
	Args     []ociArg `json:"args,omitempty"`
}

type ociArg struct {
	Index    uint   `json:"index"`
	Value    uint64 `json:"value"`    // the mask, where the comparison is masked
	ValueTwo uint64 `json:"valueTwo"` // what is compared with
	Op       string `json:"op"`
}

// ownUmask is this process's umask, which a runtime would replace by one of its own. Asking
// by umask(2) would change it for a moment, for all threads.
func ownUmask() int {
	const usual = 0o022
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return usual
	}
	for line := range strings.Lines(string(data)) {
		if text, found := strings.CutPrefix(line, "Umask:"); found {
			if n, err := strconv.ParseUint(strings.TrimSpace(text), 8, 12); err == nil {
				return int(n)
			}
		}
	}
	return usual
}

// openFiles is how many files a process may have open.
const openFiles = 4096

// newSpec writes down a job, but for its file system, who it is and its cgroup.
func newSpec(j job) ociSpec {
	none := []string{}
	s := ociSpec{
		Version: "1.0.2",
		Process: ociProcess{
			User: ociUser{Umask: ownUmask()},
			Args: append([]string{j.path}, j.args...), Env: j.env, Cwd: j.dir,
			Capabilities:    ociCapabilities{none, none, none, none, none},
			Rlimits:         rlimits(j.limits),
			NoNewPrivileges: true,
		},
		Root:     ociRoot{Path: "rootfs", Readonly: true},
		Hostname: "krmcat",
		Linux: ociLinux{
			Namespaces: []ociNamespace{{"mount"}, {"pid"}, {"ipc"}, {"uts"}},
			Seccomp:    ociProfile(),
		},
	}
	if j.env == nil {
		s.Process.Env = none
	}
	if !j.network {
		s.Linux.Namespaces = append(s.Linux.Namespaces, ociNamespace{"network"})
	}
	if unix.Access("/proc/self/ns/cgroup", unix.F_OK) == nil {
		s.Linux.Namespaces = append(s.Linux.Namespaces, ociNamespace{"cgroup"})
	}
	return s
}

// rlimits limits a process. It cannot have more than this process has, which need not be
// root.
func rlimits(l Limits) []ociRlimit {
	limit := func(name string, resource int, n uint64) ociRlimit {
		var own syscall.Rlimit
		if err := syscall.Getrlimit(resource, &own); err == nil {
			n = min(n, own.Max)
		}
		return ociRlimit{Type: name, Hard: n, Soft: n}
	}
	return []ociRlimit{
		limit("RLIMIT_NPROC", unix.RLIMIT_NPROC, uint64(max(0, l.Processes))),
		limit("RLIMIT_DATA", unix.RLIMIT_DATA, uint64(max(0, l.Memory))),
		limit("RLIMIT_NOFILE", unix.RLIMIT_NOFILE, openFiles),
		{Type: "RLIMIT_CORE"},
	}
}

// ociProfile is the list of denied calls as OCI runtimes read it. Calls by another
// machine's numbers (32 bits on a machine of 64) kill their thread.
func ociProfile() *ociSeccomp {
	arch, ok := map[string]string{
		"amd64": "SCMP_ARCH_X86_64", "arm64": "SCMP_ARCH_AARCH64", "riscv64": "SCMP_ARCH_RISCV64",
		"ppc64le": "SCMP_ARCH_PPC64LE", "s390x": "SCMP_ARCH_S390X", "arm": "SCMP_ARCH_ARM", "386": "SCMP_ARCH_X86",
	}[runtime.GOARCH]
	p := &ociSeccomp{
		DefaultAction: "SCMP_ACT_ALLOW",
		Syscalls:      []ociSyscall{{Names: []string{notThere}, Action: "SCMP_ACT_ERRNO", ErrnoRet: uint(unix.ENOSYS)}},
	}
	if ok {
		p.Architectures = []string{arch}
	}
	p.deny(deniedSyscalls(), deniedCalls())
	return p
}

// deny refuses calls, by name and by an argument.
func (p *ociSeccomp) deny(names []string, calls []deniedCall) {
	if len(names) > 0 {
		p.Syscalls = append(p.Syscalls, ociSyscall{Names: names, Action: "SCMP_ACT_ERRNO", ErrnoRet: uint(unix.EPERM)})
	}
	for _, c := range calls {
		p.Syscalls = append(p.Syscalls, ociSyscall{
			Names: []string{c.name}, Action: "SCMP_ACT_ERRNO", ErrnoRet: uint(unix.EPERM),
			Args: []ociArg{{Index: c.arg, Value: c.mask, ValueTwo: c.value, Op: "SCMP_CMP_MASKED_EQ"}},
		})
	}
}

// inode is how many bytes of a tmpfs's size permit one file in it.
const inode = 4096

// tmpfs mounts an empty file system.
func tmpfs(dst string, size int64, options ...string) ociMount {
	options = append([]string{"nosuid", "nodev", "size=" + strconv.FormatInt(size, 10), "nr_inodes=" + strconv.FormatInt(max(64, size/inode), 10)}, options...)
	return ociMount{Destination: dst, Type: "tmpfs", Source: "tmpfs", Options: options}
}

// procMounts are a /proc of the processes inside, without what is about the machine.
func (s *ociSpec) procMounts(dst string) {
	s.Mounts = append(s.Mounts, ociMount{Destination: dst, Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}})
	for _, name := range []string{"/acpi", "/asound", "/interrupts", "/kcore", "/keys", "/latency_stats", "/sched_debug", "/scsi", "/timer_list", "/timer_stats"} {
		s.Linux.MaskedPaths = append(s.Linux.MaskedPaths, dst+name)
	}
	for _, name := range []string{"/bus", "/fs", "/irq", "/sys", "/sysrq-trigger"} {
		s.Linux.ReadonlyPaths = append(s.Linux.ReadonlyPaths, dst+name)
	}
}

// devMounts are a /dev with as much shared memory, in which the runtime makes the usual devices itself.
func (s *ociSpec) devMounts(dst string, shared int64) {
	s.Mounts = append(s.Mounts,
		ociMount{Destination: dst, Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536", "ro"}},
		ociMount{Destination: dst + "/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
		tmpfs(dst+"/shm", shared, "noexec", "mode=1777"),
	)
}
