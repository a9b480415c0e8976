package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// podmanVersion has podman say its version, and whether its containers run elsewhere.
const (
	podmanVersion = "{{.Client.Version}}{{if .Server}}" + podmanRemote + "{{end}}"
	podmanRemote  = " remote"
)

// passesStreams tells from podman's answer to podmanVersion whether it can hand its own
// streams to a container. They are lost otherwise now and then, without a word: a function
// that ends before it has read all of its input has the socket between podman and the
// container's monitor reset, and podman takes the reset for the end, whatever was still to
// be read.
func passesStreams(said string) bool {
	major, _, _ := strings.Cut(said, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 4 && !strings.HasSuffix(said, podmanRemote)
}

// What is said of engines that lose output, by name or version, and of what does not.
const (
	podmanLoses  = "podman %s copies what functions write, and may lose the end of it where one ends before it has read all of its input"
	nerdctlLoses = "it may lose the end of what a function writes, without an error"
	betterRun    = ": better run images without a daemon, through docker, or through a podman of this machine from version 4 on (--runtime)"
)

// ErrLosesOutput is why Nerdctl runs images only for those who ask for it.
var ErrLosesOutput = errors.New(nerdctlLoses + " (--runtime nerdctl takes it all the same)")

// loses looks whether all that a function writes arrives, by what the engine said of
// itself, and gives a warning where it may not, "" for none. Nerdctl, to version 2.1 at
// least, closes what it copies from when the function has ended, whatever is still in it, and
// has no option against that.
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

// streamArgs are the options that connect a container with our pipes, and keep what goes
// through them out of the engine's logs.
func (e *Engine) streamArgs() []string {
	switch {
	case e.passes:
		return []string{"-i", "--log-driver", "passthrough"}
	case e.name == Nerdctl: // which attaches all three, and knows no other
		return []string{"-i", "--log-driver", nerdctlLog()}
	}
	return []string{"-i", "-a", "STDIN", "-a", "STDOUT", "-a", "STDERR", "--log-driver", "none"}
}
