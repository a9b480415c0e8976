package container

import (
	"strconv"
	"strings"
)

// podmanVersion has podman say its version, and whether its containers run elsewhere.
const podmanVersion = "{{.Client.Version}}{{if .Server}} remote{{end}}"

// passesStreams tells from podman's answer to podmanVersion whether it can hand its own
// streams to a container. They are lost otherwise now and then, without a word: a function
// that ends before it has read all of its input has the socket between podman and the
// container's monitor reset, and podman takes the reset for the end, whatever was still to
// be read.
func passesStreams(said string) bool {
	major, _, _ := strings.Cut(said, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 4 && !strings.HasSuffix(said, " remote")
}

// losesOutput is what a podman does that cannot.
const losesOutput = " copies what functions write, and may lose the end of it where one ends before it has read all of its input: better run images without a daemon, through docker, or through a podman of this machine from version 4 on (--runtime)"

// streamArgs are the options that connect a container with our pipes, and keep what goes
// through them out of the engine's logs.
func (c cli) streamArgs() []string {
	switch {
	case c.passes:
		return []string{"-i", "--log-driver", "passthrough"}
	case c.name == Nerdctl: // which attaches all three, and knows no other
		return []string{"-i", "--log-driver", "none"}
	}
	return []string{"-i", "-a", "STDIN", "-a", "STDOUT", "-a", "STDERR", "--log-driver", "none"}
}
