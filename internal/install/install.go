package install

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// commands are those that install a package, by the ID that a distribution of Linux gives
// itself in os-release.
func commands() map[string]string {
	return map[string]string{
		"debian": "apt-get install ", "ubuntu": "apt-get install ", "alpine": "apk add ", "arch": "pacman -S ",
		"fedora": "dnf install ", "rhel": "dnf install ", "centos": "dnf install ", "suse": "zypper install ", "opensuse": "zypper install ",
	}
}

// Docker is what Debian and Ubuntu call docker's package.
const Docker = "docker.io"

// Command returns the command that installs a package on this machine. pkg is its name in Debian.
// On macOS and Windows the package is always podman: it runs containers there without another one.
func Command(pkg string) string {
	switch runtime.GOOS {
	case "darwin":
		return "brew install podman"
	case "windows":
		return "winget install RedHat.Podman"
	}
	ids := system()
	if pkg == Docker && !slices.Contains(ids, "debian") && !slices.Contains(ids, "ubuntu") {
		pkg = "docker"
	}
	for _, id := range ids {
		if cmd := commands()[id]; cmd != "" {
			return AsRoot(cmd + pkg)
		}
	}
	return "install " + pkg
}

// AsRoot is a command as this user types it, that only root may run.
func AsRoot(cmd string) string {
	if os.Geteuid() > 0 { // it is -1 on Windows
		return "sudo " + cmd
	}
	return cmd
}

// system lists what this distribution of Linux calls itself, and what it is like.
func system() []string {
	data, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return nil
	}
	var ids []string
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name == "ID" || name == "ID_LIKE" {
			ids = append(ids, strings.Fields(strings.Trim(value, `"'`))...)
		}
	}
	return ids
}
