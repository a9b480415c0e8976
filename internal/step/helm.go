package step

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// HelmPath is the path, below the plugin home, of the program that kustomize starts as helm. It is
// krmcat, which becomes helm. kustomize starts helm in krmcat's process group, without a context,
// and would leave it running.
const HelmPath = "krmcat.dev/v1alpha1/helm/helm"

// HelmFile is the name of the file in the plugin home that names helm: its path, a zero byte,
// and the name that it is called by.
const HelmFile = "h"

// HelmLine begins the line that tells the render the process group: its number follows. The
// connection stays open as long as a process of the group lives.
const HelmLine = "helm "

// Answered is the render's response to HelmLine, and the first line of its response to a Step.
const Answered = "ok\n"

// cannotStart is a shell's exit code for a missing program.
const cannotStart = 127

// helm becomes helm in a process group of its own, which it reports to the render.
func helm(args []string) error {
	home := homeOf(args[0], HelmPath)
	text, err := os.ReadFile(home + HelmFile)
	if err != nil {
		return err
	}
	path, name, _ := strings.Cut(string(text), "\x00")
	outlive()
	c, err := dial(home + Socket)
	if err != nil {
		return fmt.Errorf("calling the render: %w", err)
	}
	if _, err := fmt.Fprintf(c, "%s%d\n", HelmLine, os.Getpid()); err != nil {
		return fmt.Errorf("calling the render: %w", err)
	}
	said := make([]byte, len(Answered))
	if n, err := c.Read(said); err != nil || string(said[:n]) != Answered {
		return errRefused
	}
	if err := keepOpen(c); err != nil {
		return err
	}
	err = syscall.Exec(path, append([]string{name}, args[1:]...), syscall.Environ()) //nolint:gosec // the helm that the user chose
	return &os.PathError{Op: "exec", Path: path, Err: err}
}
