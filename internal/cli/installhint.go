package cli

import (
	"errors"
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

// dockerPackage is what Debian and Ubuntu call it.
const dockerPackage = "docker.io"

// install is the one command that installs a package on this machine.
func install(pkg string) string {
	switch runtime.GOOS {
	case "darwin":
		return "brew install podman"
	case "windows":
		return "winget install RedHat.Podman"
	}
	if pkg == dockerPackage {
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
	var not *sandbox.NamespaceError
	packages := e.Packages()
	switch {
	case !errors.As(e, &not):
		if len(packages) > 0 {
			return install(packages[0])
		}
		return ""
	case !slices.ContainsFunc(e.Tried, func(l container.Tried) bool { return l.Name == container.Docker }):
		return namespacesHint(not) + ", or an engine: --" + runtimeName + " " + container.Docker
	case slices.Contains(packages, dockerPackage):
		return namespacesHint(not) + ", or " + install(dockerPackage)
	}
	return namespacesHint(not)
}

// namespacesHint is what lets this user make user namespaces.
func namespacesHint(e *sandbox.NamespaceError) string {
	switch {
	case len(e.Lacks) > 0:
		return "another user than root, or " + strings.Join(e.Lacks, ", ")
	case e.Setting == "":
		return "allowing user namespaces here (docs/sandbox.md)"
	case os.Geteuid() != 0:
		return "sudo sysctl -w " + e.Setting + "=" + e.Enough
	}
	return "sysctl -w " + e.Setting + "=" + e.Enough
}

func unconfinedHint(e *sandbox.UnconfinedError) string {
	const auto = "--" + confineName + " auto"
	for _, m := range e.Missing {
		var not *sandbox.NamespaceError
		if errors.As(m.Err, &not) {
			return namespacesHint(not) + ", or " + auto
		}
	}
	for _, m := range e.Missing {
		if m.Engine == sandbox.Bubblewrap && errors.As(m.Err, new(*sandbox.NotFoundError)) {
			return install("bubblewrap")
		}
	}
	return auto
}

func noInitHint(e *container.EngineError) string {
	switch e.Engine {
	case container.Podman:
		return install("catatonit")
	case container.Nerdctl:
		return install("tini")
	}
	return "docker-init in the PATH of docker's daemon"
}
