package enginetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// podmanVariable names podman's configuration. If it is already set, its value is used.
const podmanVariable = "CONTAINERS_CONF"

// Podman returns the environment in which podman runs and pulls from a registry on loopback without
// TLS.
func Podman(t testing.TB) []string {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "registries.conf")
	text := "unqualified-search-registries = []\n[[registry]]\nlocation = \"127.0.0.1\"\ninsecure = true\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := PodmanConfig(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := PodmanRuns(); err != nil {
		Missing(t, "%v", err)
	}
	return append(os.Environ(), "CONTAINERS_REGISTRIES_CONF="+conf, podmanVariable+"="+config)
}

// PodmanConfig writes a configuration with which podman runs in limited environments, such as a
// container of CI, and returns its path. It sets no limit of open files above that of this process,
// writes events to a file, uses runc, which supports both versions of control groups at once, and
// finds a program for --init.
func PodmanConfig(dir string) (path string, err error) {
	if path := os.Getenv(podmanVariable); path != "" {
		return path, nil
	}
	text := "[containers]\n" + podmanLimits()
	for _, name := range []string{"catatonit", "tini-static", "docker-init"} {
		if path, err := exec.LookPath(name); err == nil {
			text += fmt.Sprintf("init_path = %q\n", path)
			break
		}
	}
	text += "[engine]\nevents_logger = \"file\"\n"
	if _, err := exec.LookPath("runc"); err == nil {
		text += "runtime = \"runc\"\n"
	}
	path = filepath.Join(dir, ".containers.conf")
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// PodmanRuns returns why podman runs no container here, nil if it does. It runs one: `podman info`
// may succeed where no container can run.
func PodmanRuns() error { return podmanRuns() }

var podmanRuns = sync.OnceValue(tryPodman) //nolint:gochecknoglobals // tried once for all tests of a program

// tryPodman runs a minimal container.
func tryPodman() error {
	// There podman warns in the stderr of each function that it sets no limits.
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil && os.Geteuid() > 0 {
		return errors.New("podman sets no limits for an ordinary user with control groups v1")
	}
	box, err := busybox()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "krmcat-podman-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	root := filepath.Join(dir, "root")
	config, err := PodmanConfig(dir)
	if err = errors.Join(err, os.Mkdir(root, 0o755)); err == nil {
		err = os.WriteFile(filepath.Join(root, "busybox"), box, 0o755)
	}
	if err != nil {
		return err
	}
	cmd := exec.Command("podman", "run", "--rm", "--network", "none", "--rootfs", root, "/busybox", "true")
	cmd.Env = append(os.Environ(), podmanVariable+"="+config)
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("podman runs no container here: %w: %s", err, lines[len(lines)-1])
	}
	return nil
}
