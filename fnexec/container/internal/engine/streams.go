package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A template for podman's version and whether its containers run on another machine.
const (
	podmanVersion = "{{.Client.Version}}{{if .Server}}" + podmanRemote + "{{end}}"
	podmanRemote  = " remote"
)

// passesStreams reports whether podman can pass its own streams to a container, by its output
// for podmanVersion. If it copies them instead, output may be lost without an error: when a
// function ends before it has read its input, the socket between podman and the container's
// monitor is reset, and podman takes the reset for the end of the output.
func passesStreams(said string) bool {
	major, _, _ := strings.Cut(said, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 4 && !strings.HasSuffix(said, podmanRemote)
}

// The texts of warnings about engines that lose output.
const (
	podmanLoses  = "podman %s copies what functions write, and may lose the end of it if a function ends before it has read all of its input"
	nerdctlLoses = "it may lose the end of what a function writes, without an error"
	betterRun    = ": better run images without a container engine, by docker, or by a local podman from version 4 on (--runtime)"
)

// ErrLosesOutput is why Auto does not choose nerdctl.
var ErrLosesOutput = errors.New(nerdctlLoses + " (--runtime nerdctl uses it all the same)")

// loses returns a warning if an engine may lose output, by its version; "" if it does not.
// Nerdctl, at least up to version 2.1, closes its pipe when the function has ended, with data
// still in it, and has no option against that.
func (e *Engine) loses(said string) (warning string) {
	e.passes = e.name == Podman && passesStreams(said)
	switch {
	case e.name == Nerdctl:
		return Nerdctl + ": " + nerdctlLoses + betterRun
	case e.name == Podman && !e.passes:
		return fmt.Sprintf(podmanLoses, said) + betterRun
	}
	return ""
}

// streamArgs returns the options that connect a container to krmcat's streams and keep them out
// of the engine's logs.
func (e *Engine) streamArgs() []string {
	switch {
	case e.passes:
		return []string{"-i", "--log-driver", "passthrough"}
	case e.name == Nerdctl: // it attaches all three streams, and has no option for less
		return []string{"-i", "--log-driver", nerdctlLog()}
	}
	return []string{"-i", "-a", "STDIN", "-a", "STDOUT", "-a", "STDERR", "--log-driver", "none"}
}
