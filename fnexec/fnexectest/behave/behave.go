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

// Behaviour is what a function of the suite does.
type Behaviour string

// The behaviours.
const (
	Echo        Behaviour = "echo"         // gives back its input
	Add         Behaviour = "add"          // adds the ConfigMap "added"
	Drop        Behaviour = "drop"         // takes out the first item
	Clear       Behaviour = "clear"        // gives back an empty list
	Silent      Behaviour = "silent"       // writes nothing to stdout
	Deaf        Behaviour = "deaf"         // never reads its input, and gives back an empty list
	Garbage     Behaviour = "garbage"      // writes what is no YAML, and exits well
	FailResults Behaviour = "fail-results" // reports "too old" as a warning, and exits 1
	FailGarbage Behaviour = "fail-garbage" // writes what is no YAML, and exits 1
	Flood       Behaviour = "flood"        // writes to stdout without end
	Stderr      Behaviour = "stderr"       // writes the line "a note" to stderr, and gives back its input
	Named       Behaviour = "named"        // as Stderr, by /dev/stdin, /dev/stdout and /dev/stderr
	Hang        Behaviour = "hang"         // never ends
	Family      Behaviour = "family"       // never ends, and neither does a child that holds its stdout
	Environment Behaviour = "environment"  // gives back a ConfigMap "environment" with its variables as data
)

// byName opens the three streams, as scripts do.
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

// Process is a function of the suite as a program: what the test binary of a runtime
// that starts processes calls when it is started as one. It returns the exit code. child
// starts one more process that never ends and holds stdout.
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

// forever never returns. An empty select would: the runtime sees that nobody is left to
// end it.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// edit is what a function does to its resources.
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
