package step

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Path is where kustomize looks for the plugin of a Step below its home:
// GROUP/VERSION/LOWERKIND/KIND, with slashes.
const Path = "krmcat.dev/v1alpha1/step/Step"

// Socket is the name, in the plugin home, of the socket that the render listens on.
const Socket = "s"

// Leave does what kustomize started a process for, a Step or helm, and ends it. It returns where it
// was started for neither. It is the first line of every program that may be: krmcat and tests.
func Leave(args []string) {
	if is(args, HelmPath) {
		_, _ = os.Stderr.WriteString(helm(args).Error() + "\n")
		os.Exit(cannotStart)
	}
	if !is(args, Path) {
		return
	}
	outlive()
	if err := run(args, os.Stdin, os.Stdout); err != nil {
		os.Exit(1) // the render knows why, and says it
	}
	os.Exit(0)
}

// is reports whether a process was started by a path below a plugin home, by the name it was
// called under.
func is(args []string, path string) bool {
	return len(args) > 0 && strings.HasSuffix(strings.TrimSuffix(slashed(args[0]), ".exe"), "/"+path)
}

// homeOf is the plugin home, which ends in a slash, by the name that a process was called under.
func homeOf(name, path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(slashed(name), ".exe"), path)
}

func slashed(path string) string {
	if os.PathSeparator == '/' {
		return path
	}
	return strings.ReplaceAll(path, string(os.PathSeparator), "/")
}

var errRefused = errors.New("the step was refused")

// conn is a connection to the render, one half of which can be closed.
type conn interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// run is the whole of a process that kustomize started for a Step.
func run(args []string, stdin io.Reader, stdout io.Writer) (err error) {
	if len(args) < 2 {
		return errors.New("a step needs its config")
	}
	config, err := os.ReadFile(args[1])
	if err != nil {
		return fmt.Errorf("reading the step: %w", err)
	}
	n, err := numberOf(string(config))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(args[1]) // kustomize removes it only where all is well
		}
	}()
	c, err := dial(homeOf(args[0], Path) + Socket)
	if err != nil {
		return fmt.Errorf("calling the render: %w", err)
	}
	defer func() { _ = c.Close() }()
	return exchange(c, n, stdin, stdout)
}

// numberOf finds the number of the run in a config. kustomize prints what the render wrote:
// one field of that name, on a line of its own. A Step starts without a YAML parser.
func numberOf(config string) (int, error) {
	for line := range strings.Lines(config) {
		if n, ok := strings.CutPrefix(line, "run: "); ok {
			run, err := strconv.Atoi(strings.TrimSpace(n))
			if err != nil {
				return 0, fmt.Errorf("reading the step: %w", err)
			}
			return run, nil
		}
	}
	return 0, errors.New("the step names no run")
}

// exchange sends one request and copies the answer: a line with the run, the resources;
// back come a line that is "ok" and the new resources.
func exchange(c conn, run int, stdin io.Reader, stdout io.Writer) error {
	if _, err := fmt.Fprintf(c, "%d\n", run); err != nil {
		return fmt.Errorf("calling the render: %w", err)
	}
	if _, err := io.Copy(c, stdin); err != nil {
		return fmt.Errorf("handing over the resources: %w", err)
	}
	if err := c.CloseWrite(); err != nil {
		return fmt.Errorf("handing over the resources: %w", err)
	}
	answer := bufio.NewReader(c)
	if status, err := answer.ReadString('\n'); err != nil || status != Answered {
		return errRefused
	}
	if _, err := io.Copy(stdout, answer); err != nil {
		return fmt.Errorf("printing the answer: %w", err)
	}
	return nil
}
