package sandbox

import (
	"bytes"
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
func (e *ociEngine) outcome(b *bundle, cmd *exec.Cmd, err error) error {
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
	said := ociErrors(readLimited(b.file(bundleLog)))
	_, perr := os.Stat(b.file(bundlePid))
	switch {
	case perr != nil && len(said) > 0:
		return &EngineError{Way: e.way, Err: errors.New(plain(said[len(said)-1]))}
	case perr != nil:
		return &EngineError{Way: e.way, Err: err}
	}
	for _, s := range said {
		if strings.Contains(s, "exec") {
			return &EngineError{Way: e.way, Err: errors.New(plain(s))}
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

// ociErrors lists the errors in a log, which is one JSON object a line.
func ociErrors(log string) []string {
	var said []string
	d := json.NewDecoder(bytes.NewBufferString(log))
	for {
		var line struct{ Level, Msg string }
		if err := d.Decode(&line); err != nil {
			return said
		}
		if line.Level == "error" || line.Level == "fatal" {
			said = append(said, line.Msg)
		}
	}
}

// plain takes off a message what is about the runtime's own works.
func plain(msg string) string {
	return strings.TrimSpace(msg)
}
