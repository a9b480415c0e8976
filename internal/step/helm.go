package step

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// HelmPath is where, below the plugin home, the program stands that kustomize starts for helm:
// krmcat, under another name, which becomes helm. kustomize starts helm in krmcat's own process
// group, takes no context, and would leave it behind.
const HelmPath = "krmcat.dev/v1alpha1/helm/helm"

// HelmFile is the name, in the plugin home, of the file that says what helm is: its path, and
// behind a zero the name that it is called by.
const HelmFile = "h"

// HelmLine begins the line by which it tells the render that it is a process group, whose
// number follows. The connection stays open for as long as one of the group lives.
const HelmLine = "helm "

// Answered is what the render answers, and what the answer of a Step begins with.
const Answered = "ok\n"

// cannotStart is the exit code of a shell whose program is not there.
const cannotStart = 127

// helm becomes helm, in a process group of its own that the render knows of.
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
