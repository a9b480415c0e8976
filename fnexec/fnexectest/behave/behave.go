package behave

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Behaviour says what a function of the suite does.
type Behaviour string

// The behaviours.
const (
	Echo        Behaviour = "echo"         // returns its input
	Add         Behaviour = "add"          // adds the ConfigMap "added"
	Drop        Behaviour = "drop"         // removes the first item
	Clear       Behaviour = "clear"        // returns an empty list
	Silent      Behaviour = "silent"       // writes nothing to stdout
	Deaf        Behaviour = "deaf"         // does not read its input, and returns an empty list
	Garbage     Behaviour = "garbage"      // writes invalid YAML, and exits with 0
	FailResults Behaviour = "fail-results" // reports "too old" as a warning, and exits with 1
	FailGarbage Behaviour = "fail-garbage" // writes invalid YAML, and exits with 1
	Flood       Behaviour = "flood"        // writes to stdout without end
	Stderr      Behaviour = "stderr"       // writes "a note" to stderr, and returns its input
	Named       Behaviour = "named"        // as Stderr, with /dev/stdin and the like
	Hang        Behaviour = "hang"         // never ends
	Family      Behaviour = "family"       // never ends; nor does a child that holds stdout
	Environment Behaviour = "environment"  // returns a ConfigMap of its variables
)

// byName opens the three streams by their paths, as scripts do.
func byName() (stdin io.Reader, stdout, stderr io.Writer, err error) {
	in, err := os.Open("/dev/stdin")
	if err != nil {
		return nil, nil, nil, err
	}
	out, err := os.OpenFile("/dev/stdout", os.O_WRONLY, 0)
	if err != nil {
		return nil, nil, nil, err
	}
	stderr, err = os.OpenFile("/dev/stderr", os.O_WRONLY, 0)
	return in, out, stderr, err
}

// Process runs a function of the suite as a program, and returns its exit code. The test binary
// of a runtime calls it when it is started as a function. child starts another process that
// never ends and holds stdout.
func Process(b Behaviour, stdin io.Reader, stdout, stderr io.Writer, child func() error) int {
	const garbage = "usage: [this is: no YAML\n"
	switch b {
	case Silent:
		return 0
	case Deaf:
		return write(stdout, "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n")
	case Garbage:
		return write(stdout, garbage)
	case FailGarbage:
		write(stdout, garbage)
		return 1
	case Flood:
		for line := bytes.Repeat([]byte("# more\n"), 1000); ; {
			if _, err := stdout.Write(line); err != nil {
				return 1
			}
		}
	case Family:
		if err := child(); err != nil {
			return 2
		}
		forever()
	case Hang:
		forever()
	case Named:
		var err error
		if stdin, stdout, stderr, err = byName(); err != nil {
			return 2
		}
		return Process(Stderr, stdin, stdout, stderr, child)
	case Stderr:
		write(stderr, "a note\n")
		b = Echo
	}
	rw := &kio.ByteReadWriter{Reader: stdin, Writer: stdout, KeepReaderAnnotations: true, OmitReaderAnnotations: true}
	list, err := rw.Read()
	if err != nil {
		write(stderr, err.Error())
		return 2
	}
	list, code := edit(b, list, rw)
	if err := rw.Write(list); err != nil {
		write(stderr, err.Error())
		return 2
	}
	return code
}

// forever never returns. The Go runtime would report a deadlock for an empty select.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// edit changes the resources as a behaviour says.
func edit(b Behaviour, list []*yaml.RNode, rw *kio.ByteReadWriter) ([]*yaml.RNode, int) {
	switch b {
	case Echo:
	case Add:
		list = append(list, configMap("added", nil))
	case Drop:
		list = list[1:]
	case Clear:
		list = nil
	case FailResults:
		rw.Results = yaml.MustParse("- message: too old\n  severity: warning\n")
		return list, 1
	case Environment:
		list = append(list, configMap("environment", os.Environ()))
	default:
		return nil, 2
	}
	return list, 0
}

func configMap(name string, env []string) *yaml.RNode {
	n := yaml.MustParse(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n", name))
	data := map[string]string{}
	for _, e := range env {
		k, v, _ := strings.Cut(e, "=")
		data[k] = v
	}
	n.SetDataMap(data)
	return n
}

func write(w io.Writer, s string) int {
	if _, err := io.WriteString(w, s); err != nil {
		return 1
	}
	return 0
}
