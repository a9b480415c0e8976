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

// Path is the path of the plugin for a Step below the plugin home: GROUP/VERSION/LOWERKIND/KIND,
// with slashes.
const Path = "krmcat.dev/v1alpha1/step/Step"

// Socket is the name of the render's socket in the plugin home.
const Socket = "s"

// Leave runs the Step or helm for which kustomize started this process, and exits. It returns if
// the process was started for neither. It must be the first statement of main, in krmcat and in
// tests.
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
		os.Exit(1) // the render reports the reason
	}
	os.Exit(0)
}

// is reports whether args[0], the name that the process was started by, ends in path below a plugin
// home.
func is(args []string, path string) bool {
	return len(args) > 0 && strings.HasSuffix(strings.TrimSuffix(slashed(args[0]), ".exe"), "/"+path)
}

// homeOf returns the plugin home, with a slash at its end, from the name of a process.
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

// conn is a connection to the render whose writing half can be closed.
type conn interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// run is the process that kustomize starts for a Step.
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
			_ = os.Remove(args[1]) // kustomize removes it only after a success
		}
	}()
	c, err := dial(homeOf(args[0], Path) + Socket)
	if err != nil {
		return fmt.Errorf("calling the render: %w", err)
	}
	defer func() { _ = c.Close() }()
	return exchange(c, n, stdin, stdout)
}

// numberOf returns the number of the run in a config. kustomize prints the field of the render on a
// line of its own, so that no YAML parser is needed.
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

// exchange sends one call and copies the response. A call is a line with the number of the run
// and the resources. A response is the line "ok" and the new resources.
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
		return fmt.Errorf("printing the response: %w", err)
	}
	return nil
}
