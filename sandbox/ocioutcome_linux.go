package sandbox

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
)

// maxOCILog is how much of a runtime's log is read, in bytes.
const maxOCILog = 1 << 20

// outcome tells a runtime that failed from a job that did. err is what starting the
// command or waiting for it returned.
//
// A runtime writes its pid file when the container is made and nothing is left to do but
// to become the program. It ends with the program's exit code then, and with an error in
// its log before.
func (e *ociEngine) outcome(b *bundle, cmd *exec.Cmd, j job, err error) error {
	if err == nil {
		return nil
	}
	if cmd.ProcessState == nil { // not started
		return &EngineError{Way: e.way, Err: err}
	}
	if said := readLimited(b.file(bundleShim)); said != "" {
		return &EngineError{Way: e.way, Err: errors.New(said)}
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !exit.Exited() {
		return err // it was killed, or a stream broke
	}
	if _, perr := os.Stat(b.file(bundlePid)); perr != nil {
		if said := ociErrors(readLimited(b.file(bundleLog))); len(said) > 0 {
			err = errors.New(said[len(said)-1])
		}
		return &EngineError{Way: e.way, Err: err}
	}
	const killed = 128 + 9
	if exit.ExitCode() == killed && e.limits(mapUsers(j)) { // the group, which would tell, is gone
		return &StarvedError{Err: err, Maybe: true}
	}
	if ociExitCode(exit.ExitCode()) {
		if not := startable(j.view, j.path); not != nil {
			return &EngineError{Way: e.way, Err: not}
		}
	}
	return err
}

func readLimited(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	data, _ := io.ReadAll(io.LimitReader(f, maxOCILog))
	return string(data)
}

// ociErrors lists the errors in a log, which is one JSON object a line, without what says
// in which of the runtime's own works they came up.
func ociErrors(log string) []string {
	var said []string
	d := json.NewDecoder(strings.NewReader(log))
	for {
		var line struct{ Level, Msg string }
		if err := d.Decode(&line); err != nil {
			return said
		}
		if line.Level != "error" && line.Level != "fatal" {
			continue
		}
		for _, works := range []string{"runc run failed: ", "unable to start container process: ", "error during container init: "} {
			line.Msg = strings.TrimPrefix(line.Msg, works)
		}
		said = append(said, strings.TrimSpace(line.Msg))
	}
}
