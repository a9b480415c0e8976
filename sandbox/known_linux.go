package sandbox

import (
	"fmt"
	"os"
	"strings"
)

// circumstances returns what decides whether an engine works, as text: the boot, the namespaces and
// restrictions of this process, and the settings of the kernel. It is "" if it is unknown.
func circumstances() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	parts := []string{string(boot), fmt.Sprint(os.Geteuid(), os.Getegid())}
	for _, name := range []string{"user", "mnt", "pid", "net", "cgroup"} {
		link, err := os.Readlink("/proc/self/ns/" + name)
		if err != nil {
			return ""
		}
		parts = append(parts, link)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(status)) {
		for _, field := range []string{"NoNewPrivs:", "Seccomp", "Cap"} {
			if strings.HasPrefix(line, field) {
				parts = append(parts, line)
			}
		}
	}
	for _, file := range []string{ // which of them exist depends on the kernel
		"/proc/self/attr/current",
		"/proc/sys/user/max_user_namespaces", "/proc/sys/user/max_mnt_namespaces", "/proc/sys/user/max_pid_namespaces", "/proc/sys/user/max_net_namespaces",
		"/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		"/proc/sys/vm/memfd_noexec",
	} {
		data, err := os.ReadFile(file)
		parts = append(parts, fmt.Sprintf("%s %q %t", file, data, err == nil))
	}
	return strings.Join(parts, "\n")
}
