package cli

import (
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/fnexec/container"
	"github.com/krmcat/krmcat/sandbox"
)

// installers are the commands that install a package, by the ID that a distribution of
// Linux gives itself in os-release.
func installers() map[string]string {
	return map[string]string{
		"debian": "apt-get install ", "ubuntu": "apt-get install ", "alpine": "apk add ", "arch": "pacman -S ",
		"fedora": "dnf install ", "rhel": "dnf install ", "centos": "dnf install ", "suse": "zypper install ", "opensuse": "zypper install ",
	}
}

// install is the one command that installs a package on this machine.
func install(pkg string) string {
	switch runtime.GOOS {
	case "darwin":
		return "brew install podman"
	case "windows":
		return "winget install RedHat.Podman"
	}
	if pkg == "docker.io" { // Debian's name for it
		if id := system(); !slices.Contains(id, "debian") && !slices.Contains(id, "ubuntu") {
			pkg = "docker"
		}
	}
	for _, id := range system() {
		if cmd := installers()[id]; cmd != "" {
			return cmd + pkg
		}
	}
	return "install " + pkg
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

func noEngineHint(e *container.NoEngineError) string {
	for _, l := range e.Looked {
		if (sandbox.Missing{Way: sandbox.Way(l.Name), Err: l.Err}).Forbidden() {
			return "allowing user namespaces here (docs/sandbox.md), or an engine: --" + runtimeName + " docker"
		}
	}
	if p := e.Packages(); len(p) > 0 {
		return install(p[0])
	}
	return ""
}

func unconfinedHint(e *sandbox.UnconfinedError) string {
	for _, m := range e.Missing {
		if m.Forbidden() {
			return "allowing user namespaces here (docs/sandbox.md), or --" + confineName + " auto"
		}
	}
	if runtime.GOOS != "linux" {
		return "--" + confineName + " auto"
	}
	return install("bubblewrap")
}
